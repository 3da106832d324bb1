"""What is counted in a perplexity, how other tools print it, and what it was made with."""
