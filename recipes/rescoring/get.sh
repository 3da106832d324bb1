#!/usr/bin/env bash
# Five-best lists of Whisper on ATIS, and text of the same kind to train on, from HyPoradise's page.
#
#   bash recipes/rescoring/get.sh [FOLDER]
#
# FOLDER (data/rescoring) gets atis.nbest.tsv and atis.ref.txt, which run.sh takes, and the corpus
# atis/ for charlm train; CHARLM_MIRROR is another host.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../fetch.sh"
folder=${1:-data/rescoring}

# The references are written last.
if [ -f "$folder/atis.ref.txt" ] && is_there "$folder/atis"; then exit; fi
fetch "$folder" rescoring
"$python" "$recipes/rescoring/lists.py" "$folder/downloads/test_atis.json" \
  "$folder/downloads/train_atis.json" "$folder"
