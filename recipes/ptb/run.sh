#!/usr/bin/env bash
# Kim et al. (2016) on the Penn Treebank: trains a preset, measures it, and looks at its words.
#
#   bash recipes/ptb/run.sh [FOLDER] [options of charlm train]
#
# FOLDER ($PTB_DATA) holds ptb.train.txt, ptb.valid.txt, ptb.test.txt, or the same without `ptb.`.
# ARCH (char-small) is the preset, SEED (3435) its seed. OUT (exp/ptb-ARCH) is its run, which is
# continued if it exists.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"

die() {
  printf 'ptb: %s\n' "$*" >&2
  exit 1
}

folder=${PTB_DATA:-}
case "${1:--}" in
  -*) ;;
  *)
    folder=$1
    shift
    ;;
esac
arch=${ARCH:-char-small}
seed=${SEED:-3435}
out=${OUT:-$setup_root/exp/ptb-$arch}

if [ -f "$folder/train.txt" ]; then
  data=$folder
elif [ -f "$folder/ptb.train.txt" ]; then
  data=$setup_root/exp/ptb-data
  mkdir -p "$data"
  for split in train valid test; do
    cp "$folder/ptb.$split.txt" "$data/$split.txt"
  done
else
  die "no ptb.train.txt in '$folder'; name the folder that has Mikolov's ptb.train.txt," \
    "ptb.valid.txt and ptb.test.txt (recipes/ptb/get.sh fetches them from his RNNLM page)"
fi

python - "$data" "$setup_root/recipes/texts.sha256" <<'EOF'
import hashlib, pathlib, sys

data, known = map(pathlib.Path, sys.argv[1:])
for sha256, name in map(str.split, known.read_text().splitlines()):
    path = data / name.removeprefix("ptb/")
    if not name.startswith("ptb/"):
        continue
    if not path.is_file():
        sys.exit(f"ptb: {path}: no such file")
    if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        print(f"ptb: {path}: not the file that the papers use; the figures will differ", file=sys.stderr)
EOF

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

resume=
[ ! -f "$out/run.json" ] || resume=--resume
# shellcheck disable=SC2086  # one word or none
run charlm train --arch "$arch" --seed "$seed" --data "$data" --out "$out" $resume "$@"
run charlm eval --model "$out" --data "$data" --split test --state both
case "$arch" in
  char-*-highway0) taps=char-cnn ;;
  char-*-mlp) taps="char-cnn mlp" ;;
  char-modern) taps="char-cnn highway project" ;;
  char-*) taps="char-cnn highway" ;;
  *) taps= ;;
esac
for tap in $taps; do
  run charlm nn while his you richard trading computer-aided misinformed looooook \
    --model "$out" --at "$tap"
done
