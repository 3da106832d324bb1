#!/usr/bin/env bash
# From raw text to a model, its perplexity and its words, on the English that comes with Python.
#
#   bash recipes/demo.sh            three to five minutes on two cores
#   bash recipes/demo.sh --quick    a small part of the corpus and a small model, under a minute
#
# CHARLM_DEMO_DIR  the folder to work in, instead of exp/demo
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/help.sh"
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  echo "usage: bash recipes/demo.sh [--quick]" >&2
  exit 2
}

limit=
training="--epochs 4"
case "$#,${1:-}" in
  0,) ;;
  1,--quick)
    limit="--max-tokens 40000"
    training="--epochs 1 --set context.dim=64"
    ;;
  *) usage ;;
esac

if [ -n "${CHARLM_DEMO_DIR:-}" ]; then
  demo=$CHARLM_DEMO_DIR
else
  cd "$setup_root"
  demo=exp/demo
fi

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

mkdir -p "$demo"
rm -rf "$demo/corpus" "$demo/vocab.json" "$demo/run"

# shellcheck disable=SC2086  # several words or none
run charlm prep --corpus pydoc --lower --tokenise simple --numbers $limit --out "$demo/corpus"
run charlm vocab --data "$demo/corpus" --out "$demo/vocab.json"
# shellcheck disable=SC2086  # several words
run charlm train --arch char-small --data "$demo/corpus" --vocab "$demo/vocab.json" \
  --out "$demo/run" $training
run charlm eval --model "$demo/run" --data "$demo/corpus" --split test --state both
run charlm nn function string return unhelpfully looooook --model "$demo/run" -k 5
run charlm next this method returns --model "$demo/run" -k 5
