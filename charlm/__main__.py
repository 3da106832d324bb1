"""`python -m charlm`: the same program as the script `charlm`, for when the script is not in PATH.

Nothing may happen on import, because processes that torch starts import this file as well.
"""

from charlm.cli import main

if __name__ == "__main__":
    main()
