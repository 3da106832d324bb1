#!/usr/bin/env bash
# Fetches WikiText-2 as published: tokenised, rare words <unk>; nothing is changed, empty lines stay.
#
#   bash recipes/wikitext-2/get.sh [FOLDER]
#
# FOLDER (data/wikitext-2) gets train.txt, valid.txt and test.txt. CHARLM_MIRROR names another host.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../fetch.sh"
folder=${1:-data/wikitext-2}

is_there "$folder" || {
  fetch "$folder" wikitext-2
  unpack wikitext-2 "$folder/downloads/wikitext-2-v1.zip" "$folder" \
    train=wiki.train.tokens valid=wiki.valid.tokens test=wiki.test.tokens
}
