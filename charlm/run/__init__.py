"""The run directory: the files that a training writes, under fixed names.

Nothing in it is used as a path or run as code. What is read back is JSON and safetensors, and is
checked before use.
"""
