#!/usr/bin/env bash
# Words, morphs and characters in several languages, against Kneser-Ney, in one table.
#
#   bash recipes/languages/run.sh FOLDER [options of charlm train]
#
# FOLDER holds a folder a language, as get.sh leaves them, or each with train.txt, valid.txt and
# test.txt. LANGS chooses (all of them), ARCHS the presets (word-small morph-small char-small), OUT
# (exp/languages) is where everything goes, and is gone on with. A training has 15 epochs unless the
# options say otherwise, and a rate that valid halves is halved when it falls by less than 1 %: the
# papers' 1.0 is 3 % at a perplexity of 35. Ends with bits a verse (or sentence), which compare across languages as
# far as the texts do (not where unknown words stand as <unk>, unspelled), and with the table.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"the folder of the languages; see the head of this file"}
shift
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
out=${OUT:-$setup_root/exp/languages}
prep_options="--lower --tokenise simple"
halving_options="--set recipe.schedule.least_gain=0 --set recipe.schedule.least_gain_share=0.01"

for each in "$folder/train.txt" "$folder/raw/train.txt"; do
  [ ! -f "$each" ] || die "$folder: holds the texts of one language; expected the folder of all, as" \
    "$(dirname -- "$folder"); LANGS=$(basename -- "$folder") chooses"
done
if [ -z "${LANGS:-}" ]; then
  for each in "$folder"/*/; do
    each=$(basename -- "$each")
    [ "$each" = downloads ] || [ "$each" = '*' ] || LANGS="${LANGS:-} $each"
  done
fi
[ -n "${LANGS:-}" ] || die "$folder: no folder of a language in it; run get.sh first"

bits_a_sentence() {
  python - "$@" <<'EOF'
import json, math, sys

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        (text,) = json.load(file)["texts"]
    log10_prob = text["open_vocabulary"]["carried"]["log10_prob"]
    bits = -log10_prob / math.log10(2) / text["n_sentences"]
    print(f"{bits:8.2f} bits a sentence: {path}")
EOF
}

outs=()
evaluations=()
for language in $LANGS; do
  outs+=("$out/$language")
  # What stands as <unk> in the text, as in the news, has no spelling to learn.
  if grep -qsF '<unk>' "$folder/$language/train.txt"; then
    chain "$folder/$language" "$out/$language" --epochs 15 "$@"
    continue
  fi
  chain "$folder/$language" "$out/$language" --epochs 15 --speller "$@"
  corpus=$out/$language/$language
  [ ! -f "$folder/$language/train.txt" ] || corpus=$folder/$language
  for arch in $archs; do
    evaluation=$out/$language/eval-$arch.json
    is_new "$evaluation" "$out/$language/$arch/model.safetensors" ||
      keep "$evaluation" charlm eval --model "$out/$language/$arch" --data "$corpus" \
        --state carried --open-vocabulary --json
    evaluations+=("$evaluation")
  done
done
[ ${#evaluations[@]} -eq 0 ] || run bits_a_sentence "${evaluations[@]}"
print_table "${outs[@]}"
