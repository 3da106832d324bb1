"""A run as ONNX, as a page, or as an ARPA file: drawn text, averaged probabilities."""
