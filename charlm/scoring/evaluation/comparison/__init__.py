"""Runs held against Kneser–Ney in their own words."""
