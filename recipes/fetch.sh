# Sourced by get.sh of each set: finds a Python, and fetches and unpacks with fetch.py and texts.py.
# Both need only Python itself, so nothing has to be installed to get a text.

recipes=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH=$recipes PYTHONDONTWRITEBYTECODE=1
. "$recipes/help.sh"

die() {
  printf 'get: %s\n' "$*" >&2
  exit 1
}

find_python() {
  local name
  for name in python3 python3.13 python3.12 python3.11 python3.14 python; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      python=$name
      return
    fi
  done
  die "found no Python 3.11 or newer in PATH; install one (python.org, your system's packages)"
}

# fetch FOLDER SET [NAME ...]: fetches files of a set into FOLDER/downloads.
fetch() {
  local folder=$1
  shift
  "$python" "$recipes/fetch.py" "$folder/downloads" "$@"
}

# unpack SET ARCHIVE FOLDER train=NAME valid=NAME test=NAME: writes the three texts of FOLDER.
unpack() { "$python" "$recipes/texts.py" "$@"; }

# is_there FOLDER: whether an earlier call has made its texts.
is_there() {
  [ -f "$1/train.txt" ] && [ -f "$1/valid.txt" ] && [ -f "$1/test.txt" ] || return
  printf 'get: %s: there already\n' "$1" >&2
}

find_python
