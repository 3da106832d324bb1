#!/usr/bin/env bash
# A model and a Kneser-Ney 5-gram for rescoring speech, of written text.
#
#   bash recipes/rescoring/train.sh FOLDER [options of charlm train]
#
# FOLDER holds train.txt, valid.txt and test.txt: English, tokens between blanks. OUT (exp/speech)
# is where everything goes: corpus/, vocab.json, kn.arpa, run/, which is gone on with if it exists.
# SIZE (20000) is the vocabulary, EPOCHS (1) how often the text is read.
set -euo pipefail
folder=${1:?"the folder of train.txt, valid.txt and test.txt"}
folder=$(cd -- "$folder" && pwd)
shift
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
out=${OUT:-$setup_root/exp/speech}
mkdir -p "$out/text"

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

if [ ! -f "$out/corpus/corpus.json" ]; then
  for split in train valid test; do
    python "$setup_root/recipes/rescoring/spoken.py" <"$folder/$split.txt" >"$out/text/$split.txt"
  done
  # Sentences in any order: a state is carried from line to line, and reset at half of the ends.
  python -c 'import random, sys
lines = sys.stdin.readlines()
random.Random(1).shuffle(lines)
sys.stdout.writelines(lines)' <"$out/text/train.txt" >"$out/text/shuffled.txt"
  run charlm prep "$out/text/shuffled.txt" --valid "$out/text/valid.txt" --test "$out/text/test.txt" \
    --lower --max-words 120 --out "$out/corpus"
fi
[ -f "$out/vocab.json" ] ||
  run charlm vocab --data "$out/corpus" --size "${SIZE:-20000}" --out "$out/vocab.json"
[ -f "$out/kn.arpa" ] ||
  run charlm ngram --data "$out/corpus" --vocab "$out/vocab.json" --out "$out/kn.arpa"
resume=
[ ! -f "$out/run/run.json" ] || resume=--resume
# Adam with a rate that falls to zero learns a large text in one reading, where Kim et al.'s recipe
# for a small one takes 25.
# shellcheck disable=SC2086  # one word or none
run charlm train --arch char-small --data "$out/corpus" --vocab "$out/vocab.json" \
  --out "$out/run" --epochs "${EPOCHS:-1}" --batch-size 32 --set recipe.batching.reset=0.5 \
  --set recipe.optimiser.type=adam --set recipe.optimiser.lr=0.003 --set recipe.divisor=tokens \
  --set recipe.schedule.type=linear --set recipe.clip=1 --set context.dropout=0.1 \
  --set recipe.oov_input=spelling $resume "$@"
run charlm eval --model "$out/run" --data "$out/corpus" --state sentence
