"""The run directory, in which a training leaves its files under fixed names.

They are JSON and safetensors, checked before use; nothing in them is used as a path or as code.
"""
