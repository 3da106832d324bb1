#!/usr/bin/env bash
# Measures what a run gains on LibriSpeech's lists by adapting to each recording: cache, dynamic, both.
#
#   bash recipes/rescoring/adapted.sh FOLDER RUN
#
# FOLDER holds dev_clean and dev_other, each as .nbest.tsv.gz and .ref.txt. Each set is ranked with
# weights that were tuned on the other one, without adaptation. A row shows what one kind of
# adaptation gains over no model (the lists' own order) and over the run as it was trained. OUT (a
# new folder) keeps the weights and the chosen hypotheses; what is there already is not made again.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
data=${1:?"expected the folder of the lists"}
run=${2:?"expected a run"}
data=$(cd -- "$data" && pwd)
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
layout=(--model "$run" --lower --columns id,rank,decoder,ctc,lm,-,text)

for set in dev_clean dev_other; do
  [ -s "$out/$set.weights.json" ] ||
    charlm tune "$data/$set.nbest.tsv.gz" --refs "$data/$set.ref.txt" "${layout[@]}" \
      --folds 0 --range nn=0: --out "$out/$set.weights.json" >/dev/null
done

for pair in dev_clean:dev_other dev_other:dev_clean; do
  set=${pair%:*} refs=$data/${pair%:*}.ref.txt
  for adapt in none cache dynamic both; do
    chosen=$out/$set.$adapt.tsv
    [ -s "$chosen.json" ] || {
      charlm score "$data/$set.nbest.tsv.gz" --refs "$refs" "${layout[@]}" --adapt $adapt \
        --weights "$out/${pair#*:}.weights.json" --write tsv --out "$chosen" --json >"$chosen.part"
      mv "$chosen.part" "$chosen.json"
    }
    # Two hypotheses a list: the choice of the run as trained, and that of the adapted run.
    paste "$out/$set.none.tsv" "$chosen" |
      awk -F '\t' 'NR > 1 { print $1 "\t0\t" $5; print $1 "\t1\t" $10 }' >"$out/both.tsv"
    charlm score "$out/both.tsv" --refs "$refs" --columns id,adapted,text --weight adapted=1 \
      --write none --json >"$out/both.json"
    python - "$set" "$adapt" "$chosen.json" "$out/both.json" <<'PY'
import json, pathlib, sys

name, adapt = sys.argv[1:3]
of_lists, of_ways = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[3:])


def difference(result):
    sign = result["report"]["significance"]
    low, high = (100 * sign[end] for end in ("low", "high"))
    return f"{100 * sign['difference']:+.2f} ({low:+.2f} to {high:+.2f}), {sign['p']:.1g}"


rates = [100 * of_lists["report"][kind]["error"] for kind in ("first", "rescored", "oracle")]
print(
    f"| {name} | {adapt} | {' | '.join(f'{rate:.2f}' for rate in rates)} | {difference(of_lists)} | "
    f"{difference(of_ways) if adapt != 'none' else ''} | {of_lists['seconds']:.0f} |"
)
PY
  done
done
