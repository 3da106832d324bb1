#!/usr/bin/env bash
# Measures what rescoring gains on each set of lists: the rows of "All sets" in README.md.
#
#   bash recipes/rescoring/table.sh FOLDER [SET...]
#
# FOLDER holds wikitext-2/train.txt; nbest-hyporadise/ and nbest-librispeech-espnet/ with
# SET.nbest.tsv.gz and SET.ref.txt, and atis_train.ref.txt; nbest-mt/ and lattices-kaldi/ with the
# files of the names below. OUT (a new folder) keeps the n-gram models and the JSON output of each
# command; what is there already is not made again. MODEL is a run that is also tried on one of the
# sets.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
die() {
  printf 'rescoring: %s\n' "$*" >&2
  exit 1
}

data=${1:?"expected the folder of the lists"}
data=$(cd -- "$data" && pwd)
shift
. "$(dirname -- "${BASH_SOURCE[0]}")/../setup.sh"
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
asked=" $* "
sets="" # those of the rows below
[ -f "$data/wikitext-2/train.txt" ] || die "$data: no wikitext-2/train.txt; see --help"

# ngram NAME TEXT [options of prep]: makes a Kneser-Ney model of a text, less parts for valid and test.
ngram() {
  local name=$1 text=$2
  shift 2
  [ -f "$out/$name.arpa" ] && return
  [ -f "$out/$name/corpus.json" ] ||
    charlm prep "$text" --split 98,1,1 "$@" --out "$out/$name" >/dev/null
  charlm ngram --data "$out/$name" --out "$out/$name.arpa" >/dev/null
}

# row SET LISTS REFS --lm|--model MODEL [options of tune] [-- options of score and tune]
row() {
  local set=$1 lists=$2 refs=$3 model=("$4" "$5") tune=()
  shift 5
  while [ $# -gt 0 ] && [ "$1" != -- ]; do tune+=("$1"); shift; done
  [ $# -eq 0 ] || shift
  sets+=" $set"
  [ "$asked" = "  " ] || [[ $asked == *" $set "* ]] || return 0
  local common=("$lists" --refs "$refs" "${model[@]}" "$@")
  printf '\n# charlm tune %s %s\n' "${common[*]}" "${tune[*]-}" >&2
  local alone=(--weight kn=1)
  [ "${model[0]}" = --lm ] || alone=(--weight nn=1)
  [[ $set != moses-* ]] || alone+=(--weight total=0) # the one total of a format has weight 1 otherwise
  [[ $lists != *.lat.txt.gz ]] || alone=() # lattices have weights of their own
  [ -s "$out/$set.score.json" ] ||
    charlm score "${common[@]}" ${alone[@]+"${alone[@]}"} --write none --json \
      >"$out/$set.score.json"
  [ -s "$out/$set.tune.json" ] ||
    charlm tune "${common[@]}" ${tune[@]+"${tune[@]}"} --json >"$out/$set.tune.json"
  python - "$set" "$out" <<'PY'
import json, pathlib, sys

name, out = sys.argv[1], pathlib.Path(sys.argv[2])
score, tune = (json.loads((out / f"{name}.{kind}.json").read_text()) for kind in ("score", "tune"))
report, tuned = score["report"], tune["tuned"]
gain = tuned["held_out_gain"]
rates = [report["first"]["error"], report["rescored"]["error"]]
rates += [tuned["held_out_error"], report["oracle"]["error"]]
low, high = (100 * gain[end] for end in ("low", "high"))
print(
    f"| {name} | {report['n_lists']} | {' | '.join(f'{100 * rate:.2f}' for rate in rates)} | "
    f"{100 * gain['difference']:+.2f} ({low:+.2f} to {high:+.2f}), {gain['p']:.1g} | "
    f"{score['seconds']:.0f}, {tune['seconds']:.0f} |"
)
PY
}

# The spoken form of written English, by the rules of train.sh.
if [ ! -f "$out/wikitext.txt" ]; then
  sed -e '/^ *=/d' -e 's/ @-@ / /g' -e 's/ @,@ //g' -e 's/ [.!?;:] /\
/g' "$data/wikitext-2/train.txt" >"$out/wikitext.txt.part"
  mv "$out/wikitext.txt.part" "$out/wikitext.txt"
fi
maps=$setup_root/recipes/rescoring
ngram wikitext "$out/wikitext.txt" --lower --split-hyphens --punctuation drop --numbers \
  --map "$maps/clitics-joined.tsv"
cut -f 2 "$data/nbest-hyporadise/atis_train.ref.txt" >"$out/atis.txt"
ngram atis "$out/atis.txt"
ngram indonesian "$data/lattices-kaldi/indonesian.lm-train.txt"

wikitext=(--lm "$out/wikitext.arpa")
hyporadise=$data/nbest-hyporadise
row atis "$hyporadise/atis.nbest.tsv.gz" "$hyporadise/atis.ref.txt" --lm "$out/atis.arpa" \
  -- --columns id,rank,am,text
# These have no scores: the place in the list stands for the recogniser.
for set in swbd cv ls_clean ls_other; do
  [ -f "$out/$set.tsv" ] || {
    gzip -dc "$hyporadise/$set.nbest.tsv.gz" | cut -f 1,2,4 >"$out/$set.tsv.part"
    mv "$out/$set.tsv.part" "$out/$set.tsv"
  }
  row $set "$out/$set.tsv" "$hyporadise/$set.ref.txt" "${wikitext[@]}" --weight place=-1 \
    -- --columns id,place,text
done
[ -z "${MODEL:-}" ] || row ls_other-nn "$out/ls_other.tsv" "$hyporadise/ls_other.ref.txt" \
  --model "$MODEL" --weight place=-1 -- --columns id,place,text
for set in dev_clean dev_other; do
  row $set "$data/nbest-librispeech-espnet/$set.nbest.tsv.gz" \
    "$data/nbest-librispeech-espnet/$set.ref.txt" "${wikitext[@]}" \
    -- --lower --columns id,rank,decoder,ctc,lm,-,text
done
row srilm-mt50 "$data/nbest-mt/srilm-mt50.nbest.tsv.gz" "$data/nbest-mt/srilm-mt50.reflens.tsv" \
  "${wikitext[@]}" -- --metric counted-bleu \
  --columns id,rank,s0,s1,f0,f1,f2,f3,hyp_len,match1,match2,match3,match4,text
row moses-run1 "$data/nbest-mt/moses-run1.nbest.gz" "$data/nbest-mt/moses.ref.txt" \
  "${wikitext[@]}" -- --metric bleu --punctuation drop
for set in mono tri1 tri2; do
  row indonesian-$set "$data/lattices-kaldi/indonesian-$set.lat.txt.gz" \
    "$data/lattices-kaldi/indonesian-$set.ref.txt" --lm "$out/indonesian.arpa"
done
for set in $asked; do
  [[ "$sets " == *" $set "* ]] || die "$set: no set of this table; expected some of$sets"
done
