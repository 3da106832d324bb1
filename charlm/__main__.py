"""`python -m charlm`: the same program as the script `charlm`, where no script is in PATH.

Nothing may happen on import: a process that torch starts imports this file too.
"""

from charlm.cli import main

if __name__ == "__main__":
    main()
