"""Back-off n-gram models: counts become Kneser–Ney, ARPA files come and go, texts are scored.

Word ids here are lmplz's, not those of the neural models: `<unk>` 0, `<s>` 1, `</s>` 2.
"""
