"""How good a choice from lists is: error rates, BLEU, the oracle, significance."""
