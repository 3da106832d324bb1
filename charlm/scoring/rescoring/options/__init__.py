"""The options of `charlm score`, `tune` and `serve`."""
