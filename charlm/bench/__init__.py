"""How fast charlm is, against the obvious way to do the same and against the machine's limit.

Paths are run in turns in one process, since machines are noisy; medians are compared, and also the
fastest repetitions, which the work of other programs affects least.
"""
