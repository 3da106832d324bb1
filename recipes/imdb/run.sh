#!/usr/bin/env bash
# Miyamoto & Cho (2016) on film reviews: words alone, and a gate between words and characters.
#
#   bash recipes/imdb/run.sh FOLDER [options of charlm train]
#
# FOLDER holds raw/, as get.sh leaves it, or train.txt, valid.txt and test.txt. ARCHS chooses the
# presets (miyamoto-word miyamoto-gate-pretrained). OUT (exp/imdb) is the folder for all results;
# the next call continues there. As in their code, models that read spelling read unknown words by
# their spelling.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of raw/, or of train.txt, valid.txt and test.txt"}
shift
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
ARCHS=${ARCHS:-miyamoto-word miyamoto-gate-pretrained}
MORPHS=${MORPHS:-none}
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/imdb}
prep_options="--lower --tokenise simple"
vocab_options="--size 30000"
spelled_options="--set recipe.oov_input=spelling"
table_options="--state sentence" # as the models are trained
pretrained_options="--set recipe.schedule.epochs=1" # m = 1 on IMDB, 2 elsewhere

chain "$folder" "$out" "$@"
print_table "$out"
