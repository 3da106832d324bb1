"""Features times weights, and how sure the totals are."""
