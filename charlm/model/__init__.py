"""Integers to probabilities: encoders, contexts and outputs, and the model that joins them.

A tensor that crosses a function boundary ends in its dimensions:

    T  time steps of a chunk        B  streams or sentences side by side
    N  forms, or positions in a row L  characters of the longest form
    E  width of a form's vector     H  width of a context's vector
    V  words                        C  clusters of words      M  words of the largest cluster
    W  windows of a convolution     F  filters
"""
