"""For decoders: a model's states, a language model for other people's decoders, a search."""
