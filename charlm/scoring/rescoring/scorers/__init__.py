"""What gives a hypothesis its features: models of charlm's, in all their ways of reading."""
