"""From integers to probabilities: encoders, contexts, outputs, and the model that joins them.

The name of a tensor that crosses a function boundary ends in its dimensions:

    T  time steps of a chunk        B  streams or sentences side by side
    N  forms, or positions in a row L  characters of the longest form
    E  width of a form's vector     H  width of a context's vector
    V  words                        C  clusters of words      M  words of a cluster, morphs
    W  windows, or numbers of one   F  filters
    A  characters of a vocabulary   U  bytes of one
    K  some rows: words of a sample, n-grams of a form, components of a mixture, a cluster's
       positions in a batch
    G  rows of a cell's matrices, gates one below the other; clusters that occur in a batch
    D  width of another vector: a letter's, a latent one      R  rows of a table
    P  all windows of a batch, or all rows that are summed    S  symbols of a speller

In a kernel M is N rounded up to a multiple.
"""
