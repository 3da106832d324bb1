#!/usr/bin/env bash
# Weights found on one half of some lists, and the error rate of the other half.
#
#   bash recipes/rescoring/run.sh LISTS REFS [options of charlm tune and charlm score]
#
# LISTS has an id and a TAB at the start of every line, REFS too (both may be gz). Every second
# recording (an id less its last part; the id where that is the same for all) is tuned on. OUT (a
# new folder) keeps the halves, the weights and the rescored lists. TUNE holds options of charlm
# tune alone, as "--tuned am,nn --folds 0".
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
lists=${1:?"lists with an id at the start of every line"}
refs=${2:?"references with an id at the start of every line"}
shift 2
for file in "$lists" "$refs"; do
  [ -f "$file" ] || {
    printf 'rescoring: %s: no such file; expected lines of an id, a TAB and more\n' "$file" >&2
    exit 1
  }
done
lists=$(realpath -- "$lists") refs=$(realpath -- "$refs")
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"

python - "$lists" "$refs" "$out" <<'EOF'
import gzip, pathlib, re, sys

lists, refs, out = map(pathlib.Path, sys.argv[1:])


def lines(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from file


def recording(line, *, kind="recordings"):
    key = line.split("\t")[0].rstrip("\n")
    return re.sub(r"[-_][^-_]*$", "", key) if kind == "recordings" else key


kind = "recordings" if len({recording(line) for line in lines(refs)}) > 1 else "utterances"
half_of = {}
for source, name in ((refs, "refs.txt"), (lists, "lists.tsv")):
    halves = [open(out / f"{half}.{name}", "w", newline="\n") for half in ("dev", "test")]
    for line in lines(source):
        key = recording(line, kind=kind)
        half_of.setdefault(key, len(half_of) % 2)
        halves[half_of[key]].write(line)
    for half in halves:
        half.close()
EOF

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# shellcheck disable=SC2086  # words, or none
run charlm tune "$out/dev.lists.tsv" --refs "$out/dev.refs.txt" --out "$out/weights.json" \
  ${TUNE:-} "$@"
run charlm score "$out/test.lists.tsv" --weights "$out/weights.json" --refs "$out/test.refs.txt" \
  --write ranked --out "$out/test.ranked.tsv" "$@"
