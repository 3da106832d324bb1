#!/usr/bin/env bash
# Weights found on one half of some lists, and the error rate of the other half.
#
#   bash recipes/rescoring/run.sh LISTS REFS [options of charlm score]
#
# LISTS has an id and a TAB at the start of every line, REFS too (both may be gz); every second
# recording, an id less its last part, goes to the half that is tuned on. OUT (a new folder) keeps
# the halves, the weights and the rescored lists.
set -euo pipefail
lists=${1:?"lists with an id at the start of every line"}
refs=${2:?"references with an id at the start of every line"}
shift 2
lists=$(realpath -- "$lists") refs=$(realpath -- "$refs")
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"

python - "$lists" "$refs" "$out" <<'EOF'
import gzip, pathlib, re, sys

lists, refs, out = map(pathlib.Path, sys.argv[1:])
half_of: dict[str, int] = {}
for source, name in ((refs, "refs.txt"), (lists, "lists.tsv")):
    opener = gzip.open if source.suffix == ".gz" else open
    with opener(source, "rt", encoding="utf-8", newline="\n") as file:
        halves = [open(out / f"{half}.{name}", "w", newline="\n") for half in ("dev", "test")]
        for line in file:
            recording = re.sub(r"[-_][^-_\t]*$", "", line.split("\t")[0])
            half_of.setdefault(recording, len(half_of) % 2)
            halves[half_of[recording]].write(line)
        for half in halves:
            half.close()
EOF

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

run charlm score "$out/test.lists.tsv" --tune "$out/dev.lists.tsv" --refs "$out/dev.refs.txt" \
  --test-refs "$out/test.refs.txt" --weights "$out/weights.json" --write ranked \
  --out "$out/test.ranked.tsv" "$@"
