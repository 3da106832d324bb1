"""The report: a page that shows a model, in one file that loads nothing else."""
