"""Models for decoders: states, a language model for pyctcdecode, and a CTC beam search."""
