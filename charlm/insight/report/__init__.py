"""The report: one page that shows a model, whole in one file that needs nothing from elsewhere."""
