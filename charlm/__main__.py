"""The program, as the script `charlm` and as `python -m charlm`, for when that is not in PATH.

Nothing may happen on import, because processes that torch starts import this file as well.
"""

import sys


def main() -> None:
    """Run the command line; Ctrl-C before a command begins is one line, too."""
    try:
        from charlm.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("charlm: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
