#!/usr/bin/env bash
# Fetches Whisper's five-best lists of ATIS, and text of the same kind for training, from HyPoradise.
#
#   bash recipes/rescoring/get.sh [FOLDER]
#
# FOLDER (data/rescoring) gets atis.nbest.tsv and atis.ref.txt for run.sh, and the corpus atis/ for
# charlm train. CHARLM_MIRROR names another host.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../fetch.sh"
folder=${1:-data/rescoring}

# The references are written last.
if [ -f "$folder/atis.ref.txt" ] && is_there "$folder/atis"; then exit; fi
fetch "$folder" rescoring
"$python" "$recipes/rescoring/lists.py" "$folder/downloads/test_atis.json" \
  "$folder/downloads/train_atis.json" "$folder"
