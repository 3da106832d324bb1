"""What trained models are used for: likelihoods, perplexities, rescoring, decoding, export."""
