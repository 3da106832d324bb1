#!/usr/bin/env bash
# Which preset for how much text: trains on the beginnings of a text, and compares with Kneser-Ney.
#
#   bash recipes/low-resource/run.sh FOLDER [options of charlm train]
#
# FOLDER holds train.txt, valid.txt and test.txt, or raw/, as get.sh leaves it. TOKENS ("100000 500000
# all") chooses the beginnings, ARCHS ("char-small word-char-modern word-ngram-modern") the presets,
# SEED (3435) their seed. OUT (exp/low-resource) is the folder for all results of one text; the next
# call continues there. Perplexities of two beginnings do not compare, since each has its own
# vocabulary.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of a text; see --help"}
folder=${folder%/}
shift
ARCHS=${ARCHS:-char-small word-char-modern word-ngram-modern}
SEED=${SEED:-3435}
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/low-resource}
texts=${TOKENS:-100000 500000 all}
prep_options="--lower --tokenise simple" # as the recipes of the sets that have raw/
# shellcheck disable=SC2086  # a word each
require_numbers TOKENS $texts

make_corpus "$folder" "$out"
whole=$corpus
files=()
is_whole=
for tokens in $texts; do
  cut_corpus "$tokens" "$whole" "$out/texts/$tokens"
  if same_bytes "$corpus/train.txt" "$whole/train.txt"; then
    if [ -n "$is_whole" ]; then
      printf 'run: TOKENS: %s: the text ends before, and is trained on once\n' "$tokens" >&2
      continue
    fi
    is_whole=1
  fi
  mkdir -p "$out/$tokens"
  make_vocabulary "$out/$tokens"
  train_all "$out/$tokens" "$@"
  compare "$out/$tokens"
  files+=("$out/$tokens/compare-kn.json")
done
run charlm table "${files[@]}"
