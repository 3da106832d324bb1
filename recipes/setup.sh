# Sourced by the scripts beside it: makes or reuses .venv in the repository root, with charlm in it.
#
# The .venv is good only while it holds the key of this pyproject.toml, this constraints.txt, this
# folder and the version of Python. The key is written last, so a set-up that failed or was
# interrupted is never taken for a good one. bash 3.2 must do: macOS has no newer one.
#
# CHARLM_TORCH_INDEX  another package index to take torch from, and nothing else

setup_root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
setup_venv=$setup_root/.venv
setup_key_file=$setup_venv/charlm-setup-key

setup_say() { printf 'setup: %s\n' "$*" >&2; }

setup_die() {
  setup_say "$@"
  exit 1
}

setup_find_python() {
  local name
  PATH=${PATH//"$setup_venv/bin:"/} # never the Python of the .venv that may have to go
  for name in python3 python3.13 python3.12 python3.11 python3.14 python; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      setup_python=$name
      return
    fi
  done
  setup_die "found no Python 3.11 or newer in PATH; install one (python.org, your system's packages)"
}

setup_key() {
  "$setup_python" - "$setup_root" <<'EOF'
import hashlib, pathlib, sys

root = pathlib.Path(sys.argv[1])
key = hashlib.sha256(repr((str(root), sys.version_info[:2])).encode())
for name in ("pyproject.toml", "recipes/constraints.txt"):
    key.update((root / name).read_bytes())
print(key.hexdigest())
EOF
}

setup_is_good() {
  [ "$(cat "$setup_key_file" 2>/dev/null)" = "$1" ] &&
    "$setup_venv/bin/python" -c 'import charlm' >/dev/null 2>&1
}

# Its source does not compile for newer ones: pyproject.toml does not ask for it there.
setup_has_kenlm() { "$setup_python" -c 'import sys; sys.exit(sys.version_info >= (3, 13))'; }

# Everything that would otherwise end in a page of pip's: kenlm comes as C++ source.
setup_check_tools() {
  local version
  version=$("$setup_python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  "$setup_python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
    setup_die "Python $version has no venv module; install it (Debian, Ubuntu: python$version-venv)"
  setup_has_kenlm || return 0
  "$setup_python" -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' \
    >/dev/null 2>&1 ||
    setup_die "Python $version has no C headers; install them (Debian, Ubuntu: python$version-dev)"
  "${CXX:-c++}" -x c++ -fsyntax-only - <<<'#include <string>' >/dev/null 2>&1 ||
    setup_die "found no working C++ compiler (${CXX:-c++}), which kenlm is built with; install one" \
      "(Debian, Ubuntu: g++; macOS: xcode-select --install)"
  command -v make >/dev/null 2>&1 ||
    setup_die "found no make, which kenlm is built with; install it (Debian, Ubuntu: make)"
}

setup_pip() {
  PIP_DISABLE_PIP_VERSION_CHECK=1 "$setup_venv/bin/python" -m pip install --quiet --quiet "$@" ||
    setup_die "pip failed, see above; mend that and run this again (the .venv is begun anew)"
}

setup_torch() {
  local pin
  pin=$(grep '^torch==' "$setup_root/recipes/constraints.txt")
  setup_say "installing $pin"
  if [ -n "${CHARLM_TORCH_INDEX:-}" ]; then
    setup_pip "$pin" --index-url "$CHARLM_TORCH_INDEX"
    return
  fi
  if [ "$(uname -s)" = Linux ]; then
    setup_say "  it may bring gigabytes of CUDA; CHARLM_TORCH_INDEX=URL names another index," \
      "such as PyTorch's own for the CPU alone"
  fi
  setup_pip "$pin"
}

setup_make() {
  setup_check_tools
  setup_say "making $setup_venv with $("$setup_python" --version 2>&1)"
  rm -rf "$setup_venv"
  "$setup_python" -m venv "$setup_venv" || setup_die "could not make $setup_venv, see above"
  setup_torch
  if setup_has_kenlm; then
    setup_say "installing charlm and what it needs (kenlm is compiled, which takes a minute)"
  else
    setup_say "installing charlm and what it needs (but kenlm, which compiles for Python 3.12 or older)"
  fi
  setup_pip --editable "$setup_root[test]" --constraint "$setup_root/recipes/constraints.txt"
  printf '%s\n' "$1" >"$setup_key_file"
  setup_say "done"
}

setup_main() {
  local key
  setup_find_python
  key=$(setup_key) || setup_die "could not read pyproject.toml or recipes/constraints.txt, see above"
  setup_is_good "$key" || setup_make "$key"
  export PATH="$setup_venv/bin:$PATH"
}

setup_main
