#!/usr/bin/env bash
# Measures time and memory of `charlm ngram` and lmplz in turns, on the first tokens of a text.
#
#   bash recipes/bench/kn.sh TEXT [TOKENS ...]
#
# TOKENS are 1000000 5000000 20000000 if none are given. LMPLZ is the program (lmplz on the PATH),
# ORDER the order (5), ROUNDS the number of runs of each (3), LMPLZ_MEMORY the memory that lmplz may
# use for sorting (4G). GNU time is needed. Both write an ARPA file to TMPDIR; the headers must be
# equal.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"

die() {
  printf 'bench: %s\n' "$*" >&2
  exit 1
}

[ $# -ge 1 ] || die "expected a text; see --help"
text=$1
shift
[ $# -gt 0 ] || set -- 1000000 5000000 20000000
lmplz=${LMPLZ:-lmplz}
order=${ORDER:-5}
rounds=${ROUNDS:-3}
memory=${LMPLZ_MEMORY:-4G}
timer=${TIMER:-/usr/bin/time}

[ -f "$text" ] || die "$text: no such file; expected a text, one sentence a line"
command -v "$lmplz" >/dev/null 2>&1 || die "found no lmplz; build KenLM and name its lmplz with LMPLZ"
"$timer" -f '%e' true >/dev/null 2>&1 || die "found no GNU time; name it with TIMER"

work=$(mktemp -d "${TMPDIR:-/tmp}/charlm-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

# lmplz refuses <unk>, so both get a text in which it is a plain word.
cut_text() {
  awk -v limit="$1" '{ gsub(/<unk>/, "@unk@"); n += NF; if (n > limit) exit; print }' "$text"
}

run_charlm() {
  charlm ngram --train "$work/text" --order "$order" --out "$work/charlm.arpa"
}

run_lmplz() {
  "$lmplz" --order "$order" --discount_fallback --memory "$memory" --temp_prefix "$work/" \
    <"$work/text" >"$work/lmplz.arpa"
}

# One row: tokens, program, seconds, processor seconds, MB of memory at the peak.
measure() {
  rm -f "$work/$2.arpa"
  "$timer" -o "$work/time" -f '%e %U %S %M' bash "$work/run" "$2" 2>"$work/messages" ||
    { tail -n 3 "$work/messages" >&2; die "$2 failed on $1 tokens"; }
  awk -v n="$1" -v who="$2" \
    '{ printf "%s\t%s\t%.2f\t%.2f\t%d\n", n, who, $1, $2 + $3, $4 * 1024 / 1000000 }' \
    "$work/time" | tee -a "$work/rows"
}

head_of() { sed -n '/^ngram /p; /1-grams:/q' "$1"; }

export work order memory lmplz
{
  declare -f run_charlm run_lmplz
  printf '"run_$1"\n'
} >"$work/run"

printf 'tokens\tprogram\tseconds\tcpu\tMB\n'
for n_tokens in "$@"; do
  cut_text "$n_tokens" >"$work/text"
  n_found=$(wc -w <"$work/text" | tr -d ' ')
  [ "$n_found" -ge $((n_tokens * 99 / 100)) ] || die "$text: $n_found words; expected $n_tokens"
  for _ in $(seq "$rounds"); do
    measure "$n_tokens" charlm
    measure "$n_tokens" lmplz
    [ "$(head_of "$work/charlm.arpa")" = "$(head_of "$work/lmplz.arpa")" ] ||
      die "the two models of $n_tokens tokens have different sizes"
  done
done

printf '\n| tokens | charlm | lmplz | ratio | charlm, memory | lmplz, memory |\n|---|---|---|---|---|---|\n'
python - "$work/rows" <<'EOF'
import statistics
import sys

rows = [line.split("\t") for line in open(sys.argv[1], encoding="utf-8")]
for n_tokens in dict.fromkeys(row[0] for row in rows):
    seconds, megabytes = {}, {}
    for program in ("charlm", "lmplz"):
        own = [row for row in rows if row[:2] == [n_tokens, program]]
        seconds[program] = statistics.median(float(row[2]) for row in own)
        megabytes[program] = statistics.median(int(row[4]) for row in own)
    print(
        f"| {int(n_tokens):,} | {seconds['charlm']:.1f} s | {seconds['lmplz']:.1f} s "
        f"| {seconds['charlm'] / seconds['lmplz']:.1f} "
        f"| {megabytes['charlm']:,.0f} MB | {megabytes['lmplz']:,.0f} MB |"
    )
EOF
