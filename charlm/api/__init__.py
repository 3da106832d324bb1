"""The objects that `charlm.load` returns."""
