"""A model as one HTML file that runs it: its weights in eight bits, and the page's own files."""
