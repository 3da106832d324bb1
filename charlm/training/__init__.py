"""The loop: batches, recipes, checkpoints; asks `scoring` for validation perplexities."""
