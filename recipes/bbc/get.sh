#!/usr/bin/env bash
# Fetches the BBC news of Greene & Cunningham from their page, as sentences for `charlm prep`.
#
#   bash recipes/bbc/get.sh [FOLDER]
#
# FOLDER (data/bbc) gets raw/train.txt, raw/valid.txt and raw/test.txt, which run.sh preps.
# CHARLM_MIRROR names another host.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../fetch.sh"
folder=${1:-data/bbc}

is_there "$folder/raw" || {
  fetch "$folder" bbc
  "$python" "$recipes/bbc/articles.py" "$folder/downloads/bbc-fulltext.zip" "$folder/raw"
}
