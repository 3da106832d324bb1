"""Raw text to sentences: cleaning, normalisation, splitting; a corpus directory and its text."""
