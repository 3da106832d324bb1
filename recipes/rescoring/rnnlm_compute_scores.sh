#!/usr/bin/env bash
# Replaces Kaldi's script of this name: costs of n-best lists under a model of charlm.
#
#   rnnlm_compute_scores.sh <rnn-dir> <temp-dir> <input-text> <output-scores>
#
# <rnn-dir> is a run directory, or holds a file model.arpa; <temp-dir> is not used. <input-text> is
# an archive, "utt-1 we know". <output-scores> gets one line for each, in the same order: "utt-1
# 87.29", the negated natural logarithm with </s> included. charlm is taken from PATH.
# CHARLM_SCORE_OPTIONS holds further options of charlm score, such as "--open-vocabulary --threads 1".
# Kaldi's options (--rnnlm-ver and others, each with its value) are ignored.
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
