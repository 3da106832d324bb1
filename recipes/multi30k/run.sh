#!/usr/bin/env bash
# Compares models with Kneser-Ney on image captions in several languages, in one table.
#
#   bash recipes/multi30k/run.sh FOLDER [options of charlm train]
#
# FOLDER has one folder per language, as get.sh leaves them. LANGS chooses the languages (en de fr
# cs), ARCHS the presets (word-small morph-small char-small). OUT (exp/multi30k) is the folder for
# all results; the next call continues there. Where valid decides when the rate is halved, it is
# halved when valid's perplexity falls by less than 1 %.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of the languages"}
shift
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/multi30k}
halving_options="--set recipe.schedule.least_gain=0 --set recipe.schedule.least_gain_share=0.01"

outs=()
for language in ${LANGS:-en de fr cs}; do
  chain "$folder/$language" "$out/$language" --epochs 15 "$@"
  outs+=("$out/$language")
done
print_table "${outs[@]}"
