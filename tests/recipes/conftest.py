"""A copy of the recipes, with a set-up that installs nothing.

The fake Python answers questions (`-c`, `-`) with the real one, but makes a `.venv` that holds only
itself, and records what pip is asked for. The fake charlm does nothing, and succeeds.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = [
    *("bash", "basename", "cat", "cp", "dirname", "grep", "ln", "mkdir"),
    *("mktemp", "mv", "readlink", "rm", "sleep", "tar", "uname"),
]
BASH = shutil.which("bash") or "bash"

FAKE_PYTHON = f"""#!{BASH}
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin"; cp "$0" "$3/bin/python"
elif [ "$1 $2" = "-m pip" ]; then
  echo "${{*:3}}" >>"$PIP_LOG"
  [[ "${{*:3}}" != *"${{PIP_FAILS_ON:-nothing at all}}"* ]] || {{
    echo "pip: an error of many lines" >&2
    exit 1
  }}
elif [ "$1 $2" = "-m pytest" ]; then
  echo "CHARLM_REQUIRE_KENLM=${{CHARLM_REQUIRE_KENLM:-}}"
elif [ "$1 $2" = "-m cython" ]; then
  echo "${{*:2}}" >>"$PIP_LOG"
elif [[ $2 == *"(3, 13)"* ]]; then
  [ -n "${{NEWER:-}}" ] # 3.13 and newer
elif [[ $2 != "import charlm" && $2 != "import kenlm"* && $2 != *ensurepip* && $2 != *Python.h* ]]
then
  exec "{sys.executable}" "$@"
fi
"""
DOES_NOTHING = f"#!{BASH}\nexit 0\n"

Done = subprocess.CompletedProcess[str]


class Tree:
    """A copy of the recipes, and a PATH that holds nothing but what they may use."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a tree"
        self.bin = folder / "bin"
        self.pip_log = folder / "pip.log"
        shutil.copytree(ROOT / "recipes", self.root / "recipes")
        shutil.copy(ROOT / "pyproject.toml", self.root)
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)
        self.add("python3", FAKE_PYTHON)
        for tool in ("c++", "make", "charlm"):
            self.add(tool, DOES_NOTHING)

    def add(self, name: str, program: str) -> None:
        (self.bin / name).unlink(missing_ok=True)  # a link would lead to the system's own tool
        (self.bin / name).write_text(program)
        (self.bin / name).chmod(0o755)

    def set_up(self, then: str = "true", **environment: str) -> Done:
        """Source setup.sh and go on with `then`."""
        program = f'set -euo pipefail; . "{self.root}/recipes/setup.sh"; {then}'
        return self._bash("-c", program, environment=environment)

    def run(self, script: str, *arguments: str, **environment: str) -> Done:
        """Run a script of `recipes/`."""
        path = self.root / "recipes" / script
        return self._bash(str(path), *arguments, environment=environment)

    def _bash(self, *arguments: str, environment: dict[str, str]) -> Done:
        return subprocess.run(
            [BASH, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={"PATH": str(self.bin), "PIP_LOG": str(self.pip_log), **environment},
        )

    def installed(self) -> list[str]:
        """What pip was asked for since the last call."""
        lines = self.pip_log.read_text().splitlines() if self.pip_log.exists() else []
        self.pip_log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)
