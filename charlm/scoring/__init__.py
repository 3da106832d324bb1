"""What trained models do with texts: likelihoods, perplexities, rescoring, decoding, export."""
