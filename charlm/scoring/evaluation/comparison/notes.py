"""Remarks that a reader of a comparison should know, shown beside its tables."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from charlm.scoring.evaluation.comparison.compare_kn_options import TUNING, CompareKnOptions
from charlm.scoring.evaluation.comparison.kneser_ney import baseline_name
from charlm.scoring.evaluation.comparison.results import Group
from charlm.text.corpus.sentences import split_path
from charlm.text.corpus.signs import LEAST_SHARE
from charlm.text.corpus.tokens import share
from charlm.text.io.files import sha256_of
from charlm.text.perplexity.perplexity import Counts

if TYPE_CHECKING:
    from charlm.scoring.evaluation.comparison.runs import Contender


def remarks_on_text(counts: Counts) -> Iterator[str]:
    """What the vocabulary and its normalisation change in the text."""
    yield (
        f"<unk> as target: {counts.n_oov} of {counts.n_words} words "
        f"({share(counts.n_oov, counts.n_words):.2%}); the bits leave their spelling out"
    )
    if 2 * counts.n_oov > counts.n_words:
        yield "most words are <unk>, so the perplexities say little: another case or language?"
    if share(counts.n_pieces, counts.n_words) >= LEAST_SHARE:
        yield (
            f"marked as pieces of words (@@, \uffed, \u2581): {counts.n_pieces} of "
            f"{counts.n_words}; bits/char and bits/byte count marks and the blanks "
            "between pieces, and do not compare with those of whole words"
        )
    if counts.n_changed:
        yield (
            f"normalised: {counts.n_changed} of {counts.n_words} words "
            f"({share(counts.n_changed, counts.n_words):.2%}) stand otherwise in the text"
        )


def remarks_on_training(
    members: "Sequence[Contender]", options: CompareKnOptions, *, n_tokens: int
) -> Iterator[str]:
    """Remarks on runs that were not trained on the n-gram model's text of `n_tokens`."""
    path = split_path(options.data, "train")
    sha256, name = sha256_of(path), baseline_name(options.order)
    for member in members:
        if member.train_sha256 not in (sha256, None):
            yield f"{member.name} was trained on another text than {name}, {path}"
        elif member.n_train_tokens is not None and member.n_train_tokens < n_tokens:
            yield (
                f"{member.name} was trained on {member.n_train_tokens} of {n_tokens} tokens of "
                f"{path}, {name} on all"
            )


def remarks_on_groups(groups: Sequence[Group], options: CompareKnOptions) -> Iterator[str]:
    """Which perplexities can be compared, and which mixtures look too good."""
    if len(groups) > 1:
        yield f"{len(groups)} vocabularies: perplexities compare within a table, not between tables"
    has_mixtures = any(len(group.systems) > 1 for group in groups)
    if has_mixtures and options.split == TUNING:
        yield (
            f"weights were fitted on {TUNING}.txt, the text measured: "
            "the mixtures look better than they are"
        )
