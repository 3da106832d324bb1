"""What a trained model has learned about words: neighbours, gates, filters, pictures, reports.

Everything here looks at an encoder's taps; nothing changes a model.
"""
