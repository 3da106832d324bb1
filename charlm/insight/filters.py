"""What a filter of a character CNN looks for: the substrings to which it responds most.

Only substrings exactly as wide as the filter are tried, as in the slides of Kim et al. (2016): a
shorter one would show the filter's response to padding.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.insight.encoded_pieces import encoded_pieces, part_of, pieces_of, shown
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.forms import Forms
from charlm.run.stored_weights import LoadedRun

Filter = tuple[int, Tensor, Tensor]  # its width, its weights and its bias


@dataclass(frozen=True)
class FilterMatches:
    """The substrings to which a filter responds most, the strongest first."""

    number: int  # from 1, over filters of all widths, the narrow ones first
    n_filters: int
    width: int
    substrings: tuple[str, ...]
    responses: tuple[float, ...]  # before tanh, which makes 1 of most of them
    n_words: tuple[int, ...]  # how many of the vocabulary hold the substring
    n_asked: int  # substrings of that width in the vocabulary


def filter_matches(run: LoadedRun, number: int | None = None, *, k: int = 100) -> FilterMatches:
    """The `k` substrings of the vocabulary to which a filter responds most.

    Filters are numbered from 1, the narrow ones first; None is the first of the widest.

    Raises:
        ConfigError: the run has no character CNN, or fewer filters; no word is as long as it.
    """
    encoder, filters = _filters(run)
    if number is None:
        number = max(range(len(filters)), key=lambda place: filters[place][0]) + 1
    require_filter(run, number)
    width, weight_W, bias = filters[number - 1]
    counts = pieces_of(run.inventory, longest=width, shortest=width)
    if not counts:
        raise ConfigError(
            f"{run.path}: no word has the {width} characters that filter {number} reads, its begin "
            "and end among them; expected one; choose a narrower filter"
        )
    pieces = list(counts)

    def respond(forms: Forms) -> Tensor:
        letters_NW: Tensor = encoder.letters(forms.letters_NL).flatten(1)
        return letters_NW @ weight_W + bias

    responses_N = encoded_pieces(pieces, by=respond, device=weight_W.device)
    order = sorted(range(len(pieces)), key=lambda i: (-responses_N[i], pieces[i]))[:k]
    return FilterMatches(
        number=number,
        n_filters=len(filters),
        width=width,
        substrings=tuple(shown(pieces[i], run.inventory) for i in order),
        responses=tuple(float(responses_N[i]) for i in order),
        n_words=tuple(counts[pieces[i]] for i in order),
        n_asked=len(pieces),
    )


def require_filter(run: LoadedRun, number: int) -> None:
    """Raises ConfigError for a filter that the run does not have."""
    _, filters = _filters(run)
    if not 1 <= number <= len(filters):
        raise ConfigError(f"filter: found {number}; {run.path} has 1 to {len(filters)}; choose one")


def _filters(run: LoadedRun) -> tuple[CharCNN, list[Filter]]:
    """The character CNN, and its filters in their order in a form's vector."""
    encoder = part_of(run, CharCNN, what="filters", wanted="char-cnn")
    return encoder, [
        (layer.in_features // encoder.letters.embedding_dim, weight_W, bias)
        for layer in encoder.filters
        if isinstance(layer, nn.Linear)
        for weight_W, bias in zip(layer.weight, layer.bias, strict=True)
    ]
