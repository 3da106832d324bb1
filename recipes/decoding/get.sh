#!/usr/bin/env bash
# Fetches the Bible in English and Czech, whose letters are decoded.
#
#   bash recipes/decoding/get.sh [FOLDER [CODE ...]]
#
# As in languages/get.sh, FOLDER (data/bible) gets one folder per language: en and cs if no CODE is
# given.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:-data/bible}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- en cs
exec bash "$(dirname -- "${BASH_SOURCE[0]}")/../languages/get.sh" "$folder" "$@"
