#!/usr/bin/env bash
# WikiText-2 as published: vocabulary, models, Kneser-Ney, neighbours, a page and a table.
#
#   bash recipes/wikitext-2/run.sh FOLDER [options of charlm train]
#
# FOLDER holds train.txt, valid.txt and test.txt, as get.sh leaves them. ARCHS chooses the presets
# (word-small morph-small char-small). OUT (exp/wikitext-2) is the folder for all results; the next
# call continues there.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of train.txt, valid.txt and test.txt"}
shift
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/wikitext-2}

chain "$folder" "$out" "$@"
print_table "$out"
