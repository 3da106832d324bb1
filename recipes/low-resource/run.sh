#!/usr/bin/env bash
# Which preset for how much text: trains on the beginnings of a text, and holds all against Kneser-Ney.
#
#   bash recipes/low-resource/run.sh FOLDER [options of charlm train]
#
# FOLDER holds train.txt, valid.txt and test.txt. TOKENS ("100000 500000 all") chooses the beginnings,
# ARCHS ("char-small word-char-modern word-ngram-modern") the presets, SEED (3435) their seed, OUT
# (exp/low-resource) is where everything goes, and is gone on with. Perplexities of two beginnings do not
# compare: the words are those of each.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"the folder of a text; see the head of this file"}
folder=${folder%/}
shift
ARCHS=${ARCHS:-char-small word-char-modern word-ngram-modern}
SEED=${SEED:-3435}
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/low-resource}
texts=${TOKENS:-100000 500000 all}
# shellcheck disable=SC2086  # a word each
require_numbers TOKENS $texts

make_corpus "$folder" "$out"
whole=$corpus
files=()
for tokens in $texts; do
  cut_corpus "$tokens" "$whole" "$out/texts/$tokens"
  mkdir -p "$out/$tokens"
  [ -f "$out/$tokens/vocab.json" ] ||
    run charlm vocab --data "$corpus" --out "$out/$tokens/vocab.json"
  train_all "$out/$tokens" "$@"
  compare "$out/$tokens"
  files+=("$out/$tokens/compare-kn.json")
done
run charlm table "${files[@]}"
