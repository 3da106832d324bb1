"""How a model is trained: criterion, optimiser, schedule, batching, one choice each."""
