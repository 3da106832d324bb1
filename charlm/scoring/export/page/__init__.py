"""A model as one HTML file that runs it: its 8-bit weights, and the page's own files."""
