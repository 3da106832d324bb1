"""Back-off n-gram models: Kneser–Ney from counts, ARPA files read and written, texts scored.

Word ids here are lmplz's, not those of the neural models: `<unk>` 0, `<s>` 1, `</s>` 2.
"""
