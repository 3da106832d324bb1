"""Several processes that do one thing together: started, connected, and given their shares.

What is shared, and how, is up to the folders below; nothing here knows of models.
"""
