#!/usr/bin/env bash
# Fetches the film reviews of Maas et al. from their page, as sentences for `charlm prep`.
#
#   bash recipes/imdb/get.sh [FOLDER]
#
# FOLDER (data/imdb) gets raw/train.txt, raw/valid.txt and raw/test.txt, which run.sh preps.
# CHARLM_MIRROR names another host.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../fetch.sh"
folder=${1:-data/imdb}

is_there "$folder/raw" || {
  fetch "$folder" imdb
  "$python" "$recipes/imdb/reviews.py" "$folder/downloads/aclImdb_v1.tar.gz" "$folder/raw"
}
