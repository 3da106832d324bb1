#!/usr/bin/env bash
# Fetches Natural Stories with reading times, BLiMP's minimal pairs, and WikiText-2 to train on.
#
#   bash recipes/reading-times/get.sh [FOLDER]
#
# FOLDER (data/reading-times) gets all_stories.tok, processed_wordinfo.tsv, blimp/ (67 files) and
# wikitext-2/. CHARLM_MIRROR names another host.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../fetch.sh"
folder=${1:-data/reading-times}

fetch "$folder" reading-times
cp "$folder/downloads/all_stories.tok" "$folder/downloads/processed_wordinfo.tsv" "$folder"
if [ ! -d "$folder/blimp" ]; then
  "$python" -m zipfile -e "$folder/downloads/BLiMP.zip" "$folder/downloads/blimp"
  mv "$folder/downloads/blimp/data" "$folder/blimp"
fi
bash "$recipes/wikitext-2/get.sh" "$folder/wikitext-2"
