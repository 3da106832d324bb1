#!/usr/bin/env bash
# Table 8 of Kim et al.: what characters gain with the size of the text (T) and of the vocabulary (V).
#
#   bash recipes/languages/table8.sh FOLDER [options of charlm train]
#
# FOLDER is that of one language, such as data/bible/de. TOKENS ("100000 250000 all") chooses T, SIZES
# ("1000 3000 all") V, and ARCHS the presets (word-small char-small; none is Kneser-Ney alone). OUT
# (exp/table8) is the folder for all results; the next call continues there. Models are trained as by
# run.sh, and a table for each V is printed at the end. Where a text has no more than V words, all of
# them are used, and trained once. Perplexities over different vocabularies do not compare; between
# two tables only the percentages do.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of one language; see --help"}
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
halving_options="--set recipe.schedule.least_gain=0 --set recipe.schedule.least_gain_share=0.01"

n_words() {
  python -c 'import json, sys; print(len(json.load(open(sys.argv[1], encoding="utf-8"))["words"]))' "$1"
}

make_corpus "$folder" "$out"
whole=$corpus
for tokens in $texts; do
  cut_corpus "$tokens" "$whole" "$out/texts/$tokens"
  for size in $sizes; do
    all=$out/all/$tokens cell=$out/$size/$tokens
    mkdir -p "$all" "$cell"
    make_vocabulary "$all"
    trained=$all
    if [ "$size" != all ] && [ "$(n_words "$all/vocab.json")" -gt "$size" ]; then
      trained=$cell
      make_vocabulary "$cell" --size "$size"
    fi
    train_all "$trained" --epochs 15 "$@"
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
