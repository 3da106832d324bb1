#!/usr/bin/env bash
# Fetches Mikolov's Penn Treebank, which the papers use, from his page; nothing is changed.
#
#   bash recipes/ptb/get.sh [FOLDER]
#
# FOLDER (data/ptb) gets train.txt, valid.txt and test.txt. CHARLM_MIRROR names another host.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../fetch.sh"
folder=${1:-data/ptb}

is_there "$folder" || {
  fetch "$folder" ptb
  unpack ptb "$folder/downloads/simple-examples.tgz" "$folder" \
    train=data/ptb.train.txt valid=data/ptb.valid.txt test=data/ptb.test.txt
}
