"""Raw text to integers: files, preparation, the embedded corpus, vocabulary and encoding.

Nothing in this folder imports torch: text can be prepared and looked at without it.
"""
