"""How a processor likes parts of a model computed; each has its plain twin as the truth."""
