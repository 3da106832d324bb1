#!/usr/bin/env bash
# The Bible in English and Czech, whose letters are decoded.
#
#   bash recipes/decoding/get.sh [FOLDER [CODE ...]]
#
# As languages/get.sh: FOLDER (data/bible) gets a folder a language, en and cs if no CODE is given.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../help.sh"
folder=${1:-data/bible}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- en cs
exec bash "$(dirname -- "${BASH_SOURCE[0]}")/../languages/get.sh" "$folder" "$@"
