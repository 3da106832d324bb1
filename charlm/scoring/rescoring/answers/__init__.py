"""What is told of a rescoring: its result, why, and advice."""
