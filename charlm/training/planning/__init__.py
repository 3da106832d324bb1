"""Options become a plan, which is checked before anything is trained."""
