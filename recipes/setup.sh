# Sourced by the scripts beside it: makes or reuses .venv in the repository root, with charlm in it.
#
# The .venv is good only while it holds the key of this pyproject.toml, this constraints.txt, this
# folder and the version of Python. The key is written last, so a set-up that failed or was
# interrupted is never taken for a good one. Behind the key stands what became of kenlm, which
# charlm can do without. bash 3.2 must do: macOS has no newer one.
#
# CHARLM_TORCH_INDEX  another package index to take torch from, and nothing else

setup_root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
setup_venv=$setup_root/.venv
setup_key_file=$setup_venv/charlm-setup-key
setup_lock=$setup_venv.lock
setup_constraints=$setup_root/recipes/constraints.txt

setup_say() { printf 'setup: %s\n' "$*" >&2; }

setup_die() {
  setup_say "$@"
  setup_unlock
  exit 1
}

# Scripts may be begun side by side: one makes the .venv, and the others wait. The lock is a link to
# a process; that of one that is gone holds nobody up.
setup_make_lock() {
  local owner said='' n_without=0
  until ln -s "$$" "$setup_lock" 2>/dev/null; do
    if ! owner=$(readlink "$setup_lock"); then # let go of just now, or nothing can be written here
      n_without=$((n_without + 1))
      [ "$n_without" -lt 5 ] || setup_die "could not make $setup_lock; make $setup_root writable"
      continue
    fi
    if ! kill -0 "$owner" 2>/dev/null; then
      rm -f "$setup_lock"
      continue
    fi
    [ -n "$said" ] || setup_say "process $owner is making $setup_venv; waiting for it"
    said=yes
    sleep 1
  done
}

setup_unlock() { [ "$(readlink "$setup_lock")" != "$$" ] || rm -f "$setup_lock"; }

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

setup_check_venv() {
  local version
  version=$("$setup_python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  "$setup_python" -c 'import venv, ensurepip' >/dev/null 2>&1 ||
    setup_die "Python $version has no venv module; install it (Debian, Ubuntu: python$version-venv)"
}

setup_pip() { PIP_DISABLE_PIP_VERSION_CHECK=1 "$setup_venv/bin/python" -m pip "$@"; }

setup_install() {
  setup_pip install --quiet --quiet "$@" ||
    setup_die "pip failed, see above; mend that and run this again (the .venv is begun anew)"
}

setup_torch() {
  local pin
  pin=$(grep '^torch==' "$setup_constraints")
  setup_say "installing $pin"
  if [ -n "${CHARLM_TORCH_INDEX:-}" ]; then
    setup_install "$pin" --index-url "$CHARLM_TORCH_INDEX"
    return
  fi
  if [ "$(uname -s)" = Linux ]; then
    setup_say "  it may bring gigabytes of CUDA; CHARLM_TORCH_INDEX=URL names another index," \
      "such as PyTorch's own for the CPU alone"
  fi
  setup_install "$pin"
}

setup_make() {
  setup_check_venv
  setup_say "making $setup_venv with $("$setup_python" --version 2>&1)"
  rm -rf "$setup_venv"
  "$setup_python" -m venv "$setup_venv" || setup_die "could not make $setup_venv, see above"
  setup_torch
  setup_say "installing charlm and what it needs"
  setup_install --editable "$setup_root[test]" --constraint "$setup_constraints"
}

# What is missing to compile kenlm, of which there are no wheels; nothing where all is there.
setup_missing_tool() {
  if ! "${CXX:-c++}" -x c++ -fsyntax-only - <<<'#include <string>' >/dev/null 2>&1; then
    echo "working C++ compiler (${CXX:-c++}; Debian, Ubuntu: g++; macOS: xcode-select --install)"
  elif ! command -v make >/dev/null 2>&1; then
    echo "make"
  elif ! "$setup_python" -c \
    'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' >/dev/null 2>&1; then
    echo "Python.h (Debian, Ubuntu: python3-dev)"
  fi
}

# The C++ in kenlm 0.3.0 was made by a Cython too old for Python 3.13: it is made anew.
setup_kenlm_for_newer_python() {
  local folder status=0
  folder=$(mktemp -d) || return
  {
    setup_pip download --no-deps --no-binary kenlm kenlm \
      --constraint "$setup_constraints" --dest "$folder" &&
      tar -xzf "$folder"/kenlm-*.tar.gz -C "$folder" &&
      setup_pip install 'cython>=3' --target "$folder/cython" &&
      PYTHONPATH=$folder/cython "$setup_venv/bin/python" -m cython --cplus -3 \
        "$folder"/kenlm-*/python/kenlm.pyx &&
      setup_pip install "$folder"/kenlm-*/
  } || status=$?
  rm -rf "$folder"
  return "$status"
}

setup_kenlm() {
  if "$setup_python" -c 'import sys; sys.exit(sys.version_info < (3, 13))'; then
    setup_kenlm_for_newer_python || return
  fi
  setup_pip install --editable "$setup_root[kenlm]" --constraint "$setup_constraints" &&
    "$setup_venv/bin/python" -c 'import kenlm; kenlm.State()'
}

# Ends a set-up: kenlm if it can be had, and the key with what became of it.
setup_finish() {
  local key=$1 missing log=$setup_venv/kenlm.log without outcome=kenlm
  without="charlm works without it, but reads no KenLM binaries"
  missing=$(setup_missing_tool)
  if [ -n "$missing" ]; then
    outcome=no-tools
    setup_say "found no $missing to compile kenlm with; $without"
  else
    setup_say "compiling kenlm, which takes a minute"
    setup_kenlm >"$log" 2>&1 || {
      outcome=failed
      setup_say "could not install kenlm, see $log; $without; remove .venv to try again"
    }
  fi
  printf '%s %s\n' "$key" "$outcome" >"$setup_key_file"
  setup_say "done"
}

# Whether the .venv is that of this key; sets what became of kenlm in it.
setup_is_current() {
  local stored=''
  setup_outcome=''
  [ ! -f "$setup_key_file" ] || read -r stored setup_outcome <"$setup_key_file" || :
  [ "$stored" = "$1" ] && "$setup_venv/bin/python" -c 'import charlm' >/dev/null 2>&1
}

# Whether kenlm is missing for want of tools that came later.
setup_can_add_kenlm() { [ "$setup_outcome" = no-tools ] && [ -z "$(setup_missing_tool)" ]; }

setup_main() {
  local key
  setup_find_python
  key=$(setup_key) || setup_die "could not read pyproject.toml or recipes/constraints.txt, see above"
  if ! setup_is_current "$key" || setup_can_add_kenlm; then
    setup_make_lock
    if ! setup_is_current "$key"; then # asked again: another may have made it meanwhile
      setup_make
      setup_finish "$key"
    elif setup_can_add_kenlm; then
      setup_finish "$key"
    fi
    setup_unlock
  fi
  export PATH="$setup_venv/bin:$PATH"
}

setup_main
