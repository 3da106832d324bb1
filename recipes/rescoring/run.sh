#!/usr/bin/env bash
# Finds weights on one half of some lists, and reports the error rate on the other half.
#
#   bash recipes/rescoring/run.sh LISTS REFS [options of charlm tune and charlm score]
#
# Every line of LISTS and of REFS starts with an id and a TAB. Both files may be gzipped, and may have
# a header, which both halves get. Weights are tuned on every second recording: the id without its
# last part, or the whole id where that is the same for all. OUT (a new folder) keeps the halves, the
# weights and the rescored lists. TUNE holds options for charlm tune alone, such as "--tuned am,nn
# --folds 0".
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
lists=${1:?"expected lists with an id at the start of every line"}
refs=${2:?"expected references with an id at the start of every line"}
shift 2
for file in "$lists" "$refs"; do
  [ -f "$file" ] || {
    printf 'rescoring: %s: no such file; expected lines of an id, a TAB and more\n' "$file" >&2
    exit 1
  }
done
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"

python - "$lists" "$refs" "$out" <<'EOF'
import gzip, pathlib, re, sys, zlib

from charlm.text.io.table_lines import REFERENCES, TEXTS, names_columns

lists, refs, out = map(pathlib.Path, sys.argv[1:])


def lines(path):
    """Bytes, since the commands below report what is wrong with them."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            yield from file
    except (OSError, EOFError, zlib.error) as error:
        sys.exit(f"rescoring: {path}: {error}; expected a whole file")


def is_header(line):
    fields = line.decode(errors="replace").rstrip("\r\n").split("\t")
    return names_columns(fields, texts=(*TEXTS, *REFERENCES))


def recording(line, *, kind="recordings"):
    key = line.split(b"\t")[0].rstrip(b"\r\n")
    return re.sub(rb"[-_][^-_]*$", b"", key) if kind == "recordings" else key


found = {recording(line) for line in lines(refs) if line.strip() and not is_header(line)}
kind = "recordings" if len(found) > 1 else "utterances"
half_of = {}
for source, name in ((refs, "refs.txt"), (lists, "lists.tsv")):
    halves = [open(out / f"{half}.{name}", "wb") for half in ("dev", "test")]
    for number, line in enumerate(lines(source)):
        if number == 0 and is_header(line):
            halves[0].write(line)
            halves[1].write(line)
            continue
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
