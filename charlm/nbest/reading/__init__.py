"""What formats have in common: the contract, lines, policies, templates."""
