#!/usr/bin/env bash
# Compares words, morphs and characters with Kneser-Ney in several languages, in one table.
#
#   bash recipes/languages/run.sh FOLDER [options of charlm train]
#
# FOLDER has one folder per language, as get.sh leaves them, or each with train.txt, valid.txt and
# test.txt. LANGS chooses the languages (all of them), ARCHS the presets (word-small morph-small
# char-small). OUT (exp/languages) is the folder for all results; the next call continues there.
#
# A training has 15 epochs unless the options say otherwise. Where valid decides when the rate is
# halved, it is halved when valid's perplexity falls by less than 1 %; the papers' 1.0 is 3 % at a
# perplexity of 35. At the end come bits per verse (or sentence) and the table. The bits compare
# across languages as far as the texts do, but not where unknown words are written <unk>.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"expected the folder of the languages; see --help"}
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
read -ra languages <<<"${LANGS:-}"
if [ ${#languages[@]} -eq 0 ]; then
  for each in "$folder"/*/; do
    each=$(basename -- "$each")
    [ "$each" = downloads ] || [ "$each" = '*' ] || languages+=("$each")
  done
fi
[ ${#languages[@]} -gt 0 ] || die "$folder: found no folder of a language in it; run get.sh first"

bits_a_sentence() {
  python - "$@" <<'EOF'
import json, math, sys

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        (text,) = json.load(file)["texts"]
    opened = text["open_vocabulary"]
    if "carried" not in opened:
        print(f"no bits a sentence: {path} ({opened['obstacle']})")
        continue
    log10_prob = opened["carried"]["log10_prob"]
    bits = -log10_prob / math.log10(2) / text["n_sentences"]
    print(f"{bits:8.2f} bits a sentence: {path}")
EOF
}

outs=()
evaluations=()
for language in "${languages[@]}"; do
  outs+=("$out/$language")
  # Words written <unk> in the text, as in the news, have no spelling to learn.
  if grep -qsF '<unk>' "$folder/$language/train.txt" "$folder/$language/raw/train.txt"; then
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
