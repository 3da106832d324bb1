"""The run directory: the files that a training writes, under fixed names.

All files are JSON or safetensors and are checked before use. Nothing in them is used as a path or
run as code.
"""
