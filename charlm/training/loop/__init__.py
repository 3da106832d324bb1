"""From batches to weights: steps, the trainer that runs them, validation."""
