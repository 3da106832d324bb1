#!/usr/bin/env bash
# Image captions in several languages: models against Kneser-Ney, in one table.
#
#   bash recipes/multi30k/run.sh FOLDER [options of charlm train]
#
# FOLDER holds a folder a language, as get.sh leaves them. LANGS chooses (en de fr cs), ARCHS the
# presets (word-small morph-small char-small), OUT (exp/multi30k) is where everything goes, and is
# gone on with. The rate is halved when valid falls by less than 1 %.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"the folder of the languages"}
shift
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/multi30k}

outs=()
for language in ${LANGS:-en de fr cs}; do
  chain "$folder/$language" "$out/$language" --epochs 15 \
    --set recipe.schedule.least_gain=0 --set recipe.schedule.least_gain_share=0.01 "$@"
  outs+=("$out/$language")
done
print_table "${outs[@]}"
