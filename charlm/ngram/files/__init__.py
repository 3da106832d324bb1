"""Models in files: ARPA, and KenLM's binaries."""
