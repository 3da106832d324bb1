"""Several processes that do one thing together: started, connected, and given their shares.

Which share of what is whose, the folders below say; here nothing is known of models.
"""
