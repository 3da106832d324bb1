#!/usr/bin/env bash
# Miyamoto & Cho (2016) on BBC news: words, characters, and gates between them.
#
#   bash recipes/bbc/run.sh FOLDER [options of charlm train]
#
# FOLDER holds raw/, as get.sh leaves it, or train.txt, valid.txt and test.txt. ARCHS chooses the
# presets (all rows of their table 1). OUT (exp/bbc) is the folder for all results; the next call
# continues there. As in their code, models that read spelling read unknown words by their spelling.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of raw/, or of train.txt, valid.txt and test.txt"}
shift
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
ARCHS=${ARCHS:-miyamoto-word miyamoto-char miyamoto-concat miyamoto-concat-pretrained \
miyamoto-gate miyamoto-gate-pretrained miyamoto-fixed25 miyamoto-fixed25-pretrained \
miyamoto-fixed50 miyamoto-fixed50-pretrained miyamoto-fixed75 miyamoto-fixed75-pretrained}
MORPHS=${MORPHS:-none}
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/bbc}
prep_options="--lower --tokenise simple"
vocab_options="--size 10000"
spelled_options="--set recipe.oov_input=spelling"
table_options="--state sentence" # as the models are trained

chain "$folder" "$out" "$@"
print_table "$out"
