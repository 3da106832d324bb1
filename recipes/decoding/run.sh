#!/usr/bin/env bash
# Sends sentences through a noisy channel, and decodes them with n-gram and neural models.
#
#   bash recipes/decoding/run.sh FOLDER [options of charlm train]
#
# FOLDER has one folder per language, as get.sh leaves them, or each with train.txt, valid.txt and
# test.txt. LANGS chooses the languages (en cs), ARCH the preset (char-small). DECODE holds options of
# decode.py (--pyctcdecode 500 also tries that decoder, if it is installed). OUT (exp/decoding) is
# the folder for all results; the next call continues there.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of the languages; see --help"}
shift
ARCHS=${ARCH:-char-small}
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
prep_options="--lower --tokenise simple"
halving_options="--set recipe.schedule.least_gain=0 --set recipe.schedule.least_gain_share=0.01"

for language in ${LANGS:-en cs}; do
  out=${OUT:-$setup_root/exp/decoding}/$language
  make_corpus "$folder/$language" "$out"
  make_vocabulary "$out"
  [ -f "$out/kn5.arpa" ] ||
    run charlm ngram --data "$corpus" --vocab "$out/vocab.json" --out "$out/kn5.arpa"
  train_all "$out" --for sentences --speller --epochs 15 "$@"
  # shellcheck disable=SC2086  # options, or none
  run python "$setup_root/recipes/decoding/decode.py" "$corpus" --model "${runs[0]}" \
    --lm "$out/kn5.arpa" ${DECODE:-}
done
