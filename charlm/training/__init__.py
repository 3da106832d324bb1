"""Training a model: recipes, the loop, checkpoints; `scoring` computes validation perplexity."""
