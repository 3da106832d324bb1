#!/usr/bin/env bash
# Kim et al.'s table 8: what characters gain by how much text (T) there is, and how many words (V).
#
#   bash recipes/languages/table8.sh FOLDER [options of charlm train]
#
# FOLDER is that of one language, as data/bible/de. TOKENS ("100000 250000 all") and SIZES ("1000 3000
# all") choose, ARCHS the presets (word-small char-small; none is Kneser-Ney alone), OUT (exp/table8)
# is where everything goes, and is gone on with. Trains as run.sh beside it does, and ends with a
# table for each V. Where a text has no more words than V, V is all of them, which are trained once.
# Perplexities over other words do not compare: of two tables only the per cent do.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"the folder of one language; see the head of this file"}
folder=${folder%/}
shift
ARCHS=${ARCHS:-word-small char-small}
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
[ "$archs" != none ] || archs=
out=${OUT:-$setup_root/exp/table8}
sizes=${SIZES:-1000 3000 all}
texts=${TOKENS:-100000 250000 all}
# shellcheck disable=SC2086  # a word each
require_numbers "TOKENS, SIZES" $sizes $texts
prep_options="--lower --tokenise simple"
train_options=(--epochs 15
  --set recipe.schedule.least_gain=0 --set recipe.schedule.least_gain_share=0.01)

n_words() {
  python -c 'import json, sys; print(len(json.load(open(sys.argv[1], encoding="utf-8"))["words"]))' "$1"
}

# make_vocabulary V FILE
make_vocabulary() {
  local limit="--size $1"
  [ "$1" != all ] || limit=
  # shellcheck disable=SC2086  # two words or none
  [ -f "$2" ] || run charlm vocab --data "$corpus" --out "$2" $limit
}

make_corpus "$folder" "$out"
whole=$corpus
for tokens in $texts; do
  cut_corpus "$tokens" "$whole" "$out/texts/$tokens"
  for size in $sizes; do
    all=$out/all/$tokens cell=$out/$size/$tokens
    mkdir -p "$all" "$cell"
    make_vocabulary all "$all/vocab.json"
    trained=$all
    if [ "$size" != all ] && [ "$(n_words "$all/vocab.json")" -gt "$size" ]; then
      trained=$cell
      make_vocabulary "$size" "$cell/vocab.json"
    fi
    train_all "$trained" "${train_options[@]}" "$@"
    compare "$trained"
    [ "$trained" = "$cell" ] || cp "$trained/compare-kn.json" "$cell/"
  done
done
for size in $sizes; do
  printf '\nV = %s\n' "$size"
  files=()
  for tokens in $texts; do
    files+=("$out/$size/$tokens/compare-kn.json")
  done
  run charlm table "${files[@]}"
done
