#!/usr/bin/env bash
# Trains models on sentences, and tests their surprisal on reading times and on minimal pairs.
#
#   bash recipes/reading-times/run.sh FOLDER [options of charlm train]
#
# FOLDER is as get.sh leaves it. ARCHS chooses the presets (word-small char-small), SIZE the
# vocabulary (10000). OUT (exp/reading-times) is the folder for all results; the next call continues
# there. A training has 5 epochs unless the options say otherwise; the learning rate falls in their
# second half.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of stories, pairs and wikitext-2, as get.sh leaves it"}
shift
ARCHS=${ARCHS:-word-small char-small}
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/reading-times}
here=$setup_root/recipes/reading-times

[ -f "$folder/all_stories.tok" ] && has_texts "$folder/wikitext-2" ||
  die "$folder: no all_stories.tok, or no wikitext-2/train.txt; run get.sh first"
require_same_texts "$folder/wikitext-2" "$out"
pairs=("$folder"/blimp/*.jsonl)
[ -f "$folder/processed_wordinfo.tsv" ] && [ -f "${pairs[0]}" ] ||
  die "$folder: no processed_wordinfo.tsv, or no blimp/*.jsonl; run get.sh first"
if [ ! -f "$out/corpus/corpus.json" ]; then
  mkdir -p "$out/text"
  for split in train valid test; do
    python "$here/prose.py" <"$folder/wikitext-2/$split.txt" >"$out/text/$split.txt"
  done
  run charlm prep "$out/text/train.txt" --valid "$out/text/valid.txt" --test "$out/text/test.txt" \
    --lower --tokenise simple --max-words 100 --out "$out/corpus"
fi
corpus=$out/corpus
make_vocabulary "$out" --size "${SIZE:-10000}"
[ -f "$out/kn5.arpa" ] ||
  run charlm ngram --data "$corpus" --vocab "$out/vocab.json" --out "$out/kn5.arpa"
train_all "$out" --for sentences --epochs 5 --set recipe.schedule.type=linear \
  --set recipe.schedule.hold=0.5 --set context.dropout=0.1 --set context.forget_bias=1 "$@"
models=(--lm "$out/kn5.arpa")
for each in "${runs[@]}"; do
  models+=(--model "$each")
done
[ -f "$out/stories.csv" ] ||
  keep "$out/stories.csv" python "$here/stories.py" "$folder/all_stories.tok"
keep "$out/surprisal.tsv" charlm surprisal "$out/stories.csv" --column sentence --previous 2 \
  "${models[@]}"
run python "$here/fit.py" "$out/surprisal.tsv" "$folder/processed_wordinfo.tsv"
run charlm surprisal "${pairs[@]}" --pairs "${models[@]}"
