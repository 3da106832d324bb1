"""What was really said, and how it differs from what lists hold."""
