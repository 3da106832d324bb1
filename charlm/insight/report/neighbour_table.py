"""Which words' neighbours the page shows, and these neighbours at every tap.

They are the paper's own words (Kim et al., 2016, table 6) if the vocabulary has them, so that the
pages of two models can be compared; else words of the vocabulary, frequent and less frequent.
"""

from charlm.insight.encoded_pieces import require_words
from charlm.insight.pictures.subject import Subject
from charlm.insight.report.tables import Json, short
from charlm.insight.vectors.inputs import open_vectors
from charlm.insight.vectors.nn_options import VectorsOptions
from charlm.insight.vectors.run_neighbours import neighbours_in
from charlm.insight.vectors.taps import ALL, Vectors
from charlm.run.stored_weights import LoadedRun
from charlm.text.corpus.normalisation.normalisation import is_of_letters
from charlm.text.corpus.tokens import UNK

TABLE_6 = ("while", "his", "you", "richard", "trading")
TABLE_6_UNKNOWN = ("computer-aided", "misinformed", "looooook")
LEAST_KNOWN = 4  # of the paper's words: with fewer it is another language
RANKS = (50, 150, 400, 1000, 2500, 6000)
LEAST_LETTERS = 4  # of a word of our choice
N_NEAREST = 5


def neighbour_table(subject: Subject) -> Json:
    """The nearest words of those asked about, or of our choice, tap by tap."""
    run, words = subject.run, subject.options.word
    asked = words or chosen_words(run)
    # Words of the vocabulary are normalised already, and need not survive it a second time.
    opened = open_vectors(VectorsOptions(at=ALL, raw=not words), vectors=Vectors(run))
    hoods = neighbours_in(opened, asked, k=N_NEAREST)
    taps: dict[str, list[Json]] = {}
    for hood in hoods:
        column = {
            "word": short(hood.form),
            "known": hood.is_known,
            "nearest": [[short(near.word), near.similarity] for near in hood.nearest],
        }
        taps.setdefault(hood.tap, []).append(column)
    return {"taps": [{"tap": tap, "columns": columns} for tap, columns in taps.items()]}


def chosen_words(run: LoadedRun) -> list[str]:
    """The words to show if the user chose none."""
    require_words(run)
    inventory = run.inventory
    known = [word for word in TABLE_6 if word in inventory.word_ids]
    if len(known) >= LEAST_KNOWN:
        unknown = TABLE_6_UNKNOWN if run.model.encoder.reads_spelling else ()
        return [*known, *unknown]
    words = inventory.words[UNK + 1 :]
    long_enough = [w for w in words if len(w) >= LEAST_LETTERS and is_of_letters(w)] or words
    last = len(long_enough) - 1
    ranks = RANKS if last > RANKS[1] else [last * n // len(RANKS) for n in range(1, len(RANKS) + 1)]
    return list(dict.fromkeys(long_enough[min(rank, last)] for rank in ranks))
