"""N-gram approximations of neural models: sampled text, averaged probabilities, one ARPA file."""
