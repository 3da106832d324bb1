"""Runs compared with Kneser–Ney models over the same words."""
