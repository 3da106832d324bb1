#!/usr/bin/env bash
# Kim et al.'s table 8: what characters gain by how much text (T) there is, and how many words (V).
#
#   bash recipes/languages/table8.sh FOLDER [options of charlm train]
#
# FOLDER is that of one language, as data/bible/de. TOKENS ("100000 250000 all") and SIZES ("1000 3000
# all") choose, ARCHS the presets (word-small char-small; none is Kneser-Ney alone), OUT (exp/table8)
# is where everything goes, and is gone on with. Trains as run.sh beside it does, and ends with a
# table for each V. Where a text has no more words than V, V is all of them, which are trained once.
# Perplexities over other words do not compare: of two tables only the per cent do.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:?"the folder of one language; see the head of this file"}
folder=${folder%/}
shift
ARCHS=${ARCHS:-word-small char-small}
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
. "$setup_root/recipes/chain.sh"
[ "$archs" != none ] || archs=
out=${OUT:-$setup_root/exp/table8}
sizes=${SIZES:-1000 3000 all}
texts=${TOKENS:-100000 250000 all}
for each in $sizes $texts; do
  case $each in
    all) ;;
    *[!0-9]* | 0*) die "TOKENS, SIZES: found '$each'; expected numbers from 1, or all" ;;
  esac
done
prep_options="--lower --tokenise simple"
train_options=(--epochs 15
  --set recipe.schedule.least_gain=0 --set recipe.schedule.least_gain_share=0.01)

# beginning TOKENS FILE: the first sentences of a text, of so many tokens at most, each </s> one of them.
beginning() {
  python - "$1" "$2" <<'EOF'
import sys

n_left = float("inf") if sys.argv[1] == "all" else int(sys.argv[1])
with open(sys.argv[2], "rb") as file:
    for line in file:
        n_left -= len(line.split()) + 1
        if n_left < 0:
            break
        sys.stdout.buffer.write(line)
EOF
}

n_words() {
  python -c 'import json, sys; print(len(json.load(open(sys.argv[1], encoding="utf-8"))["words"]))' "$1"
}

# make_vocabulary V FILE
make_vocabulary() {
  local limit="--size $1"
  [ "$1" != all ] || limit=
  # shellcheck disable=SC2086  # two words or none
  [ -f "$2" ] || run charlm vocab --data "$corpus" --out "$2" $limit
}

make_corpus "$folder" "$out"
whole=$corpus
for tokens in $texts; do
  corpus=$out/texts/$tokens
  mkdir -p "$corpus"
  cp "$whole/valid.txt" "$whole/test.txt" "$corpus/"
  [ -f "$corpus/train.txt" ] || {
    beginning "$tokens" "$whole/train.txt" >"$corpus/train.txt.part"
    mv "$corpus/train.txt.part" "$corpus/train.txt"
  }
  for size in $sizes; do
    all=$out/all/$tokens cell=$out/$size/$tokens
    mkdir -p "$all" "$cell"
    make_vocabulary all "$all/vocab.json"
    trained=$all
    if [ "$size" != all ] && [ "$(n_words "$all/vocab.json")" -gt "$size" ]; then
      trained=$cell
      make_vocabulary "$size" "$cell/vocab.json"
    fi
    train_all "$trained" "${train_options[@]}" "$@"
    compare "$trained"
    [ "$trained" = "$cell" ] || cp "$trained/compare-kn.json" "$cell/"
  done
done
for size in $sizes; do
  printf '\nV = %s\n' "$size"
  files=()
  for tokens in $texts; do
    files+=("$out/$size/$tokens/compare-kn.json")
  done
  run charlm table "${files[@]}"
done
