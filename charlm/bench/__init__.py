"""How fast charlm is: against the obvious way to do the same, and against the machine's limit.

Paths are run in turns in one process, since machines are noisy; medians are what is compared, and
beside them the fastest repetitions, which other programs' work moves least.
"""
