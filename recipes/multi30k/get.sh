#!/usr/bin/env bash
# Fetches Multi30k's captions as its publishers tokenised them, and decodes XML entities.
#
#   bash recipes/multi30k/get.sh [FOLDER [LANGUAGE ...]]
#
# FOLDER (data/multi30k) gets one folder per language (en de fr cs) with train.txt, valid.txt and
# test.txt. CHARLM_MIRROR names another host.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../fetch.sh"
folder=${1:-data/multi30k}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- en de fr cs

for language in "$@"; do
  case $language in
    en | de | fr | cs) ;;
    *) die "multi30k: no address for '$language'; expected one of en, de, fr, cs" ;;
  esac
  is_there "$folder/$language" || {
    fetch "$folder" multi30k "train.lc.norm.tok.$language" "val.lc.norm.tok.$language" \
      "test_2016_flickr.lc.norm.tok.$language"
    "$python" "$recipes/multi30k/captions.py" "$folder/downloads" "$language" "$folder/$language"
  }
done
