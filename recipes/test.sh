#!/usr/bin/env bash
# Sets up charlm and runs its tests. Arguments go to pytest (`-n 0` uses one process, for --pdb).
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
cd "$setup_root"

# Two processes with a thread each: more threads than cores make PyTorch many times slower.
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
# Tests start charlm hundreds of times: where this is set, each would compile its files anew.
unset PYTHONDONTWRITEBYTECODE
# File by file, so that what the tests of one share is made once.
python -m pytest -n 2 --dist loadfile "$@"
