"""The run directory: the files that a training writes, under fixed names.

Nothing in it is run as code, or used as a path but that of the run which it was begun from, before
its first checkpoint. What is read back is JSON and safetensors, and is checked before use.
"""
