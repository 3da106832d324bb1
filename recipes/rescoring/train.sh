#!/usr/bin/env bash
# Trains a model and a Kneser-Ney 5-gram on written text, for rescoring speech.
#
#   bash recipes/rescoring/train.sh FOLDER [options of charlm train]
#
# FOLDER holds train.txt, valid.txt and test.txt: English, tokens between blanks. OUT (exp/speech)
# gets corpus/, vocab.json, kn.arpa and run/; a run that exists is continued. SIZE (20000) is the
# size of the vocabulary.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of train.txt, valid.txt and test.txt"}
folder=$(cd -- "$folder" && pwd)
shift
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/speech}

has_texts "$folder" || die "$folder: no train.txt; expected it with valid.txt and test.txt, as recipes/wikitext-2/get.sh leaves them"
require_same_texts "$folder" "$out"
if [ ! -f "$out/corpus/corpus.json" ]; then
  mkdir -p "$out/text"
  # A sentence a line, without WikiText's headings and hyphens; the rest is prep's.
  for split in train valid test; do
    sed -e '/^ *=/d' -e 's/ @-@ / /g' -e 's/ @,@ //g' -e 's/ [.!?;:] /\
/g' <"$folder/$split.txt" >"$out/text/$split.txt"
  done
  run charlm prep "$out/text/train.txt" --valid "$out/text/valid.txt" --test "$out/text/test.txt" \
    --lower --split-hyphens --punctuation drop --numbers --min-words 2 --max-words 120 \
    --map "$setup_root/recipes/rescoring/clitics-joined.tsv" --out "$out/corpus"
fi
corpus=$out/corpus
make_vocabulary "$out" --size "${SIZE:-20000}"
[ -f "$out/kn.arpa" ] ||
  run charlm ngram --data "$corpus" --vocab "$out/vocab.json" --out "$out/kn.arpa"
resume=
[ ! -f "$out/run/run.json" ] || resume=--resume
# One epoch over a text five times as large as PTB: the rate falls to zero in its second half, and
# sentences stand alone, as in a list.
# shellcheck disable=SC2086  # one word or none
run charlm train --arch char-small --data "$corpus" --vocab "$out/vocab.json" \
  --out "$out/run" --epochs 1 --set recipe.batching.type=sentences \
  --set recipe.schedule.type=linear --set recipe.schedule.hold=0.5 --set context.dropout=0.1 \
  --set context.forget_bias=1 --set recipe.oov_input=spelling $resume "$@"
run charlm eval --model "$out/run" --data "$corpus" --state sentence
