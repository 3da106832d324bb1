"""Exporting a run as ONNX networks, as an HTML page, or as an ARPA file that approximates it."""
