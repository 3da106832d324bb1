"""From batches to weights: steps, the trainer that counts them, validation."""
