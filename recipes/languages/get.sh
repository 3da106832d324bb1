#!/usr/bin/env bash
# Fetches the Bible in many languages, or the news of Botha & Blunsom as Kim et al. use it.
#
#   bash recipes/languages/get.sh [FOLDER [CODE ...]]
#   bash recipes/languages/get.sh --news [FOLDER [CODE ...]]
#
# FOLDER (data/bible, data/news) gets one folder per language. The Bible corpus of Christodoulopoulos
# & Steedman (en cs de es fr ru ar; any other code of recipes/addresses.tsv) goes to raw/, which
# run.sh preps. DATA-S of Botha & Blunsom (cs de es fr ru) becomes train.txt, valid.txt and test.txt
# without changes. CHARLM_MIRROR names another host.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../fetch.sh"

get_news() {
  local folder=${1:-data/news} code
  [ $# -eq 0 ] || shift
  [ $# -gt 0 ] || set -- cs de es fr ru
  for code in "$@"; do
    case $code in
      cs | de | es | fr | ru) ;;
      *) die "news: no text for '$code'; expected one of cs, de, es, fr, ru" ;;
    esac
    is_there "$folder/$code" && continue
    fetch "$folder" news
    # Kim et al. validate on test.in, and test on what its authors held out for the end.
    unpack news "$folder/downloads/icml14-data.tar.bz2" "$folder/$code" \
      "train=en-$code/1m-mono/train.in" "valid=en-$code/1m-mono/test.in" \
      "test=en-$code/1m-mono/finaltest.in"
  done
}

get_bibles() {
  local folder=${1:-data/bible} code
  [ $# -eq 0 ] || shift
  [ $# -gt 0 ] || set -- en cs de es fr ru ar
  for code in "$@"; do
    is_there "$folder/$code/raw" && continue
    fetch "$folder" languages "$code.xml"
    "$python" "$recipes/languages/verses.py" "$folder/downloads/$code.xml" "$folder/$code/raw"
  done
}

if [ "${1:-}" = --news ]; then
  shift
  get_news "$@"
else
  get_bibles "$@"
fi
