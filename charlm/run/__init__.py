"""The run directory: what a training leaves, under fixed names.

Nothing in it is used as a path or run as code: JSON and safetensors, checked before they are used.
"""
