"""What a perplexity counts, how other tools print it, and the signature that goes with it."""
