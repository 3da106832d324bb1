"""How lattices are rescored, and how much each feature counts.

A total is Σ weight·feature over a path. A beam is measured in nats of the language models: it is
multiplied by the sum of their weights, so that one number serves lattices of any scales.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from charlm.errors import ConfigError
from charlm.nbest.lattices.lattice import Lattice
from charlm.text.corpus.normalisation.labels import is_silent, is_word, labels_read
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.io.lines import split_words

OLD = "old_lm"  # the language model that the lattice was made with, if its scores are separate
GRAPH, REST = "graph", "graph_nolm"  # Kaldi's sum, and the rest of it without the old model
COUNTS = ("words", "oov")
KALDI_AM = 0.1  # Kaldi's own default of --acoustic-scale


@dataclass(frozen=True)
class LatticeOptions:
    weights: Mapping[str, float] = field(default_factory=dict)  # all; empty: the lattice's own
    weights_path: str | Path | None = None  # the file that holds them, for messages
    overrides: Mapping[str, float] = field(default_factory=dict)  # replace some of the weights
    beam: float = 16.0  # nats of the language models below the best of a level; 0: none
    recombine: int = 4  # histories that share this many last words are merged; 0: never
    context: int = 0  # the most words before a word that a model reads; 0: all of them
    max_pairs: int = 10_000  # of nodes and histories per level; the best ones stay
    n_best: int = 100  # hypotheses that are returned, 1 or more
    rules: Normalisation | None = None  # by which models read a word as one or several tokens
    is_known: Callable[[str], bool] | None = None  # in a vocabulary; None: words are, noise is not
    by_label: bool = False  # histories are of labels, not of what models read for them

    def read(self, label: str) -> tuple[str, ...]:
        """What models read for a label: words, and the noise that they know, as in lists."""
        if is_silent(label):
            return ()
        if self.is_known is None:
            return self._tokens(label) if is_word(label) else ()
        words = labels_read([label], self.is_known, rules=self.rules)
        return self._tokens(words[0]) if words else ()

    @cached_property
    def _tokens(self) -> Callable[[str], tuple[str, ...]]:
        rules = self.rules
        return cache(lambda word: (word,) if rules is None else tuple(split_words(rules(word))))

    def steps(self, label: str) -> tuple[str, ...]:
        """What a label adds to a history."""
        if self.by_label:
            return () if is_silent(label) else (label,)
        return self.read(label)

    def n_unknown(self, label: str) -> int:
        """The number of tokens that are read for a label and are in no vocabulary."""
        is_known = self.is_known
        return 0 if is_known is None else sum(not is_known(token) for token in self.read(label))


@dataclass(frozen=True)
class Weighing:
    """The weights of a search: of the lattice's own features, of counts, and of models."""

    weights: Mapping[str, float]  # by name, as given or by default
    own: tuple[float, ...]  # of the lattice's features
    counts: tuple[float, float]  # of words and unknown words
    models: tuple[float, ...]  # of the answers of each model
    language: float  # of all language models together: the unit of the beam
    scale: float  # sum of their positive weights, 1 if there are none: the unit of graph scores


def feature_names(lattice: Lattice, models: Sequence[str]) -> tuple[str, ...]:
    """The names of a path's features, without `words` and `oov`."""
    names = [REST if name == GRAPH and OLD in models else name for name in lattice.names]
    return (*names, *models)


def default_weights(lattice: Lattice, models: Sequence[str]) -> dict[str, float]:
    """The lattice's own scales; new models share half of the language model's scale equally.

    Where the lattice has no scores of a language model, they share all of it.
    Where a lattice says nothing, Kaldi's acoustic scale is 0.1, durations and SRILM's further
    scores have weight 0, and every other scale is 1.
    """
    is_kaldi = GRAPH in lattice.names
    old = OLD if OLD in (*lattice.names, *models) else GRAPH
    scale = lattice.scales.get(OLD, 1.0)
    new = [name for name in models if name != OLD]
    weights = {"am": lattice.scales.get("am", KALDI_AM if is_kaldi else 1.0)}
    if is_kaldi and OLD in models:
        weights[REST] = 1.0
    has_old = old in models or any(arc.values[lattice.names.index(old)] for arc in lattice.arcs)
    own = scale if not new else scale / 2 if has_old else 0.0
    weights[old] = own
    weights.update({name: (scale - own) / len(new) for name in new})
    for name in lattice.names:
        if name not in (GRAPH, *weights):
            weights[name] = lattice.scales.get(name, 1.0 if name in ("ngram", "pron") else 0.0)
    if "words" in lattice.scales:
        weights["words"] = lattice.scales["words"]
    return weights


def weighing(lattice: Lattice, models: Sequence[str], *, options: LatticeOptions) -> Weighing:
    """How a lattice's paths are weighed.

    Raises:
        ConfigError: a weight of an unknown feature, or an old model whose scores are there already.
    """
    if OLD in models and OLD in lattice.names:
        raise ConfigError(
            f"--old-lm: {lattice.place}: the lattice has the old model's scores already; expected "
            "one whose graph scores hold more (Kaldi); leave it out"
        )
    weights = {**(options.weights or default_weights(lattice, models)), **options.overrides}
    names = feature_names(lattice, models)
    for name in weights:
        if name not in (*names, *COUNTS):
            is_tuned = options.weights_path is not None and name not in options.overrides
            further = ", or the models of the tuning by --model, --lm or --old-lm"
            raise ConfigError(
                f"{f'{options.weights_path}: ' if is_tuned else ''}weight {name!r:.60}: "
                f"no such feature in {lattice.place}; expected {', '.join((*names, *COUNTS))}"
                f"{further if is_tuned else ''}"
            )
    rest = weights.get(REST, 0.0)
    own = tuple(weights.get(name, 0.0) for name in names[: len(lattice.names)])
    counted = [weights.get(name, 0.0) for name in models]
    if REST in names:  # the old model is taken out of the sum and counts by its own weight
        counted = [
            weight - rest if name == OLD else weight
            for name, weight in zip(models, counted, strict=True)
        ]
    # In a fixed order, since sums of floats depend on it.
    language = [weights.get(name, 0.0) for name in dict.fromkeys((OLD, GRAPH, "ngram", *models))]
    return Weighing(
        weights=weights,
        own=own,
        counts=(weights.get("words", 0.0), weights.get("oov", 0.0)),
        models=tuple(counted),
        language=sum(map(abs, language)) or 1.0,
        scale=sum(weight for weight in language if weight > 0) or 1.0,
    )
