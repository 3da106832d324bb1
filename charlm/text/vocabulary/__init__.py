"""Words, characters and morphs: counted, chosen, and a text as their ids."""
