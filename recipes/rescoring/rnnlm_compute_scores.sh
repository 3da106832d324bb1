#!/usr/bin/env bash
# Takes the place of Kaldi's script of this name: costs of n-best lists under a model of charlm.
#
#   rnnlm_compute_scores.sh <rnn-dir> <temp-dir> <input-text> <output-scores>
#
# <rnn-dir> is a run directory, or holds a file model.arpa; of <temp-dir> nothing is needed.
# <input-text> is an archive, "utt-1 we know"; <output-scores> gets "utt-1 87.29", the negated
# natural logarithm with </s> included, for each line where it stood. charlm is taken from PATH, and
# CHARLM_SCORE_OPTIONS holds further options of charlm score, as "--open-vocabulary --threads 1".
# Kaldi's options (--rnnlm-ver and others, each with its value) are passed over.
set -euo pipefail

while [[ ${1:-} == --* ]]; do
  shift $(($# > 1 ? 2 : 1))
done
if [ $# != 4 ]; then
  echo "Usage: rnnlm_compute_scores.sh <rnn-dir> <temp-dir> <input-text> <output-scores>" >&2
  exit 1
fi
model=(--model "$1")
[ ! -f "$1/model.arpa" ] || model=(--lm "$1/model.arpa")
# shellcheck disable=SC2086  # options, or none
charlm score "$3" --format kaldi "${model[@]}" --out "$4" ${CHARLM_SCORE_OPTIONS:-}
