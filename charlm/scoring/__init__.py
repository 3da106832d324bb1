"""What trained models say of texts: likelihoods, perplexities, rescoring, decoding, export."""
