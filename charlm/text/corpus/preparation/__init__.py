"""`charlm prep`: raw text becomes a corpus directory."""
