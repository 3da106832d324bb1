"""Words, characters and morphs: counted and chosen; texts encoded as their ids."""
