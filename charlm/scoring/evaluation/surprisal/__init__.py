"""Surprisals of texts and tables, one row per written word; and minimal pairs."""
