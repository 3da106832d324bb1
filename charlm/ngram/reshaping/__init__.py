"""Other models made of models: fewer words, fewer n-grams, several in one."""
