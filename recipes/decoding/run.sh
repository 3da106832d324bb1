#!/usr/bin/env bash
# Sentences through a noisy channel, and back by beam search under n-gram and neural models.
#
#   bash recipes/decoding/run.sh FOLDER [options of charlm train]
#
# FOLDER holds a folder a language, as get.sh leaves them, or each with train.txt, valid.txt and
# test.txt. LANGS chooses (en cs), ARCH is the preset (char-small), DECODE holds options of decode.py
# (--pyctcdecode 500 asks that decoder, too, where it is installed), OUT (exp/decoding) is where
# everything goes, and is gone on with.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"the folder of the languages; see the head of this file"}
shift
ARCHS=${ARCH:-char-small}
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
prep_options="--lower --tokenise simple"

for language in ${LANGS:-en cs}; do
  out=${OUT:-$setup_root/exp/decoding}/$language
  mkdir -p "$out"
  make_corpus "$folder/$language" "$out"
  [ -f "$out/vocab.json" ] || run charlm vocab --data "$corpus" --out "$out/vocab.json"
  [ -f "$out/kn5.arpa" ] ||
    run charlm ngram --data "$corpus" --vocab "$out/vocab.json" --out "$out/kn5.arpa"
  train_all "$out" --for sentences --speller --epochs 15 --set recipe.schedule.least_gain=0 \
    --set recipe.schedule.least_gain_share=0.01 "$@"
  # shellcheck disable=SC2086  # options, or none
  run python "$setup_root/recipes/decoding/decode.py" "$corpus" --model "${runs[0]}" \
    --lm "$out/kn5.arpa" ${DECODE:-}
done
