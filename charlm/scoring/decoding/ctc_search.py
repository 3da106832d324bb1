"""CTC prefix beam search over letters, with a language model that scores unfinished words.

A prefix (`_Beginning`) is its finished words and the letters of the word after them. Its CTC
probability is summed over all alignments to the frames (Graves et al., 2006; Hannun et al., 2014).
A finished word is worth alpha · ln P(word | words before) + beta. An unfinished word is worth what
the model gives to all words that begin with its letters, so that the beam is ranked by the words
that its letters may become. The model steps all prefixes of a beam together.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, NamedTuple

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.interface.options import Opt, keywords
from charlm.scoring.decoding.states import Floats, State, StatefulModel

BLANK, SPACE = "", " "
UNK_OFFSET = -10.0
# Largest sum of a frame's probabilities: bf16 rounds each by up to 3 %. Pruned frames sum to less.
MOST = 1.1
MOST_WEIGHT = 1e5  # infinite ones would give scores of infinity and NaN
LEAST = -1e30  # log-probability where no word begins so: 0 · −∞ would be NaN


@dataclass(frozen=True)
class CTCOptions:
    """What is searched, with which model, and how widely."""

    log_probs: Annotated[
        object, Opt("Natural logarithms of the letters' probabilities, (T, L), of one utterance.")
    ]
    _: KW_ONLY
    alphabet: Annotated[
        Sequence[str],
        Opt("The letters that the columns stand for: '' is the blank, ' ' ends a word."),
    ]
    model: Annotated[
        object,
        Opt("A model with states, as charlm.load gives it; None: letters, and no alpha or beta."),
    ] = None
    alpha: Annotated[
        float, Opt("Weight of the model's log-probabilities.", least=0, most=MOST_WEIGHT)
    ] = 0.5
    beta: Annotated[float, Opt("Added for each word.", least=-MOST_WEIGHT, most=MOST_WEIGHT)] = 1.5
    unk_offset: Annotated[
        float | None,
        Opt(
            "Added to the log-probability of each unknown word, and more in proportion beyond "
            "typical_length; -10 if not given, and nothing where the model spells it; -inf: no "
            "text with an unknown word is likelier than one without.",
            most=MOST_WEIGHT,
        ),
    ] = None
    typical_length: Annotated[
        float,
        Opt(
            "Letters beyond which an unknown word costs more in proportion; inf: none does, as in "
            "pyctcdecode's totals.",
            least=1,
        ),
    ] = 6.0
    beam_width: Annotated[int, Opt("Beginnings kept after each frame.", least=1)] = 64
    beam_margin: Annotated[
        float, Opt("Beginnings worse than the best by more are dropped.", least=0)
    ] = 10.0
    least_letter: Annotated[
        float, Opt("Letters with a smaller log-probability in a frame are not tried there.")
    ] = -5.0
    n_best: Annotated[int, Opt("Greatest number of results.", least=1)] = 1


class Transcript(NamedTuple):
    """A result of the search; all numbers are natural logarithms."""

    text: str
    score: float  # what the search ranks by
    log_prob: float  # CTC's, of the text's letters
    lm_log_prob: float  # the model's, including the end; 0 without a model


@dataclass
class _Words:
    """Finished words, and the model's state after them."""

    text: str
    state: State | None  # shared by all words that were stepped together
    row: int
    lm_log_prob: float = 0.0
    bonus: float = 0.0  # beta and offsets
    worths: dict[str, float] = field(default_factory=dict)  # of the letters that follow


@dataclass
class _Beginning:
    """Finished words and the letters after them, with the log-probability by how alignments end."""

    words: _Words
    letters: str
    blank: float = -math.inf  # ln of the sum over alignments whose last frame is blank
    letter: float = -math.inf  # the same for all other alignments

    @property
    def log_prob(self) -> float:
        return float(np.logaddexp(self.blank, self.letter))


@keywords(CTCOptions)
def ctc_beam_search(options: CTCOptions) -> list[Transcript]:
    """The most probable texts of one utterance, the best first.

    Spaces at the ends of a text are dropped, and several in a row count as one. Words are looked up
    as the letters spell them, so the alphabet must write words as the model's text rules do.

    Raises:
        ConfigError: an alphabet that does not fit; a model without states; a number out of range.
        DataError: log_probs with NaN or above 0, or a frame's probabilities that sum to more than
            1; a sum below 1 is allowed.
    """
    alphabet = _alphabet(options.alphabet)
    log_probs_TL = _checked(options.log_probs, n_letters=len(alphabet))
    search = _Search(options)
    beam = [_Beginning(search.start(), "", blank=0.0)]
    for log_probs_L in log_probs_TL:
        tried = np.flatnonzero(log_probs_L >= options.least_letter).tolist()
        tried = tried or [int(log_probs_L.argmax())]
        frame = [(alphabet[k], float(log_probs_L[k])) for k in tried]
        beam = search.pruned(search.extended(beam, frame))
    return search.finished(beam)[: options.n_best]


def _alphabet(letters: Sequence[str]) -> list[str]:
    long = next((letter for letter in letters if len(letter) > 1), None)
    if long is not None:
        raise ConfigError(
            f"alphabet: found {long!r:.40}; expected single characters, and '' for the blank"
        )
    twice = next((letter for letter, n in Counter(letters).items() if n > 1), None)
    if twice is not None:
        raise ConfigError(f"alphabet: found {twice!r} twice; expected each letter once")
    if BLANK not in letters:
        raise ConfigError("alphabet: found no ''; expected it for the blank")
    if "|" in letters and SPACE not in letters:
        raise ConfigError("alphabet: found '|' and no ' '; expected ' ' for what ends a word")
    return list(letters)


def _checked(log_probs: object, *, n_letters: int) -> Floats:
    try:
        found = np.asarray(log_probs, np.float64)
    except (ValueError, TypeError, RuntimeError) as error:  # RuntimeError: a tensor with a gradient
        told = str(error).removesuffix(".")
        raise ConfigError(f"log_probs: {told}; expected an array of numbers") from None
    if found.ndim != 2 or found.shape[1] != n_letters:
        raise ConfigError(
            f"log_probs: found the shape {found.shape}; expected (frames, {n_letters}), a column "
            "for each letter of the alphabet"
        )
    if np.isnan(found).any() or (found > 1e-3).any():
        raise DataError("log_probs: found NaN, or more than 0; expected natural logarithms")
    sums_T = np.exp(found).sum(axis=1)
    wrong = np.flatnonzero(sums_T > MOST)
    if wrong.size:
        raise DataError(
            f"log_probs: the probabilities of frame {wrong[0]} sum to {sums_T[wrong[0]]:.3g}; "
            "expected at most 1: natural logarithms, as log_softmax gives them, and not log10"
        )
    return found


class _Search:
    """The operations on a beam, frame by frame."""

    def __init__(self, options: CTCOptions) -> None:
        model = options.model
        if model is not None and not isinstance(model, StatefulModel):
            raise ConfigError(
                f"model: found {type(model).__name__}; expected what charlm.load gives"
            )
        self.model: StatefulModel | None = model
        self.options = options
        is_spelled = model is not None and model.speller is not None
        default = 0.0 if is_spelled else UNK_OFFSET
        self.unk_offset = default if options.unk_offset is None else options.unk_offset
        self._known: dict[str, _Words] = {}  # by text, since a word can end in several frames

    def start(self) -> _Words:
        """The words of the empty text."""
        self._known[""] = _Words("", self.model.start() if self.model else None, 0)
        return self._known[""]

    def extended(
        self, beam: Sequence[_Beginning], frame: Sequence[tuple[str, float]]
    ) -> list[_Beginning]:
        """All prefixes that the beam becomes with one more frame, and their CTC probabilities."""
        new: dict[tuple[str, str], _Beginning] = {}
        ended: list[tuple[_Beginning, float]] = []

        def reach(words: _Words, letters: str) -> _Beginning:
            return new.setdefault((words.text, letters), _Beginning(words, letters))

        for each in beam:
            total = each.log_prob
            last = each.letters[-1:] or SPACE
            for letter, log_prob in frame:
                if letter == BLANK:
                    same = reach(each.words, each.letters)
                    same.blank = _sum(same.blank, total + log_prob)
                elif letter == SPACE and not each.letters:  # after another space, or at the start
                    same = reach(each.words, "")
                    same.letter = _sum(same.letter, total + log_prob)
                elif letter == SPACE:
                    ended.append((each, total + log_prob))
                else:
                    if letter == last:
                        same = reach(each.words, each.letters)
                        same.letter = _sum(same.letter, each.letter + log_prob)
                    ways = each.blank if letter == last else total
                    if ways > -math.inf:
                        longer = reach(each.words, each.letters + letter)
                        longer.letter = _sum(longer.letter, ways + log_prob)
        words = self.ended([each for each, _ in ended])
        for behind, (_, ways) in zip(words, ended, strict=True):
            reached = reach(behind, "")
            reached.letter = _sum(reached.letter, ways)
        return list(new.values())

    def pruned(self, beginnings: list[_Beginning]) -> list[_Beginning]:
        """The best prefixes; what the model said of the others is forgotten."""
        self._weigh(beginnings)
        scores = [self._score(each) for each in beginnings]
        least = max(scores) - self.options.beam_margin
        order = sorted(range(len(scores)), key=lambda k: -scores[k])
        kept = [beginnings[k] for k in order[: self.options.beam_width] if scores[k] >= least]
        self._known = {each.words.text: each.words for each in kept}
        return kept

    def finished(self, beam: Sequence[_Beginning]) -> list[Transcript]:
        """The texts, the best first; the last word may end with a blank or with nothing."""
        texts: dict[str, tuple[_Words, float]] = {}
        for words, each in zip(self.ended(beam), beam, strict=True):
            before = texts.get(words.text, (words, -math.inf))[1]
            texts[words.text] = words, _sum(before, each.log_prob)
        ends = [0.0] * len(texts)
        if self.model is not None:
            whole = [words for words, _ in texts.values()]
            for state, places in _by_state(whole):
                found = self.model.finish(state.select([whole[k].row for k in places]))
                for k, log_prob in zip(places, found.tolist(), strict=True):
                    ends[k] = log_prob
        results = []
        for end, (words, log_prob) in zip(ends, texts.values(), strict=True):
            lm_log_prob = words.lm_log_prob + end
            score = log_prob + self.options.alpha * lm_log_prob + words.bonus
            results.append(Transcript(words.text, score, log_prob, lm_log_prob))
        return sorted(results, key=lambda each: -each.score)

    def ended(self, beginnings: Sequence[_Beginning]) -> list[_Words]:
        """The words of each prefix, with its letters as a finished word if it has any."""
        new = {
            _joined(each): each
            for each in beginnings
            if each.letters and _joined(each) not in self._known
        }
        texts, sources = list(new), list(new.values())
        if self.model is None:
            for text in texts:
                self._known[text] = _Words(text, None, 0)
        else:
            for state, places in _by_state([each.words for each in sources]):
                rows = [sources[k].words.row for k in places]
                step = self.model.step(state.select(rows), [sources[k].letters for k in places])
                answers = zip(places, step.log_probs.tolist(), step.known.tolist(), strict=True)
                for row, (k, log_prob, is_known) in enumerate(answers):
                    before = sources[k].words
                    offset = 0.0 if is_known else self._weighed_offset(sources[k])
                    self._known[texts[k]] = _Words(
                        texts[k],
                        step.state,
                        row,
                        before.lm_log_prob + log_prob,
                        before.bonus + self.options.beta + offset,
                    )
        return [self._known[_joined(each)] for each in beginnings]

    def _weigh(self, beginnings: Iterable[_Beginning]) -> None:
        """Ask the model what unfinished words are worth."""
        if self.model is None:
            return
        new = [each for each in beginnings if each.letters not in each.words.worths]
        for state, places in _by_state([each.words for each in new]):
            chosen = [new[k] for k in places]
            rows = state.select([each.words.row for each in chosen])
            log_probs = self.model.prefix_log_prob(rows, [each.letters for each in chosen])
            if not self.model.speller:  # any letters may become an unknown word
                offsets = np.array([self._offset(each) for each in chosen])
                unknown = self.model.log_prob_of_unk(rows) + offsets
                log_probs = np.logaddexp(log_probs, unknown)
            for each, log_prob in zip(chosen, log_probs.tolist(), strict=True):
                worth = self.options.alpha * max(log_prob, LEAST) + self.options.beta
                if log_prob == self.unk_offset == -math.inf:  # forbidden, at an alpha of 0, too
                    worth = LEAST
                each.words.worths[each.letters] = worth if each.letters else 0.0

    def _offset(self, each: _Beginning) -> float:
        """The offset of an unknown word, finished or not; it grows with the word's length.

        Otherwise one long word made of everything that was not understood would cost less than the
        words that it consists of.
        """
        return self.unk_offset * max(1.0, len(each.letters) / self.options.typical_length)

    def _weighed_offset(self, each: _Beginning) -> float:
        """The offset in a score; −∞ forbids unknown words at an alpha of 0, too: 0 · −∞ is NaN."""
        return self._offset(each) * (self.options.alpha if self.unk_offset > -math.inf else 1.0)

    def _score(self, each: _Beginning) -> float:
        words = each.words
        worth = words.worths[each.letters] if self.model is not None else 0.0
        return each.log_prob + self.options.alpha * words.lm_log_prob + words.bonus + worth


def _by_state(words: Sequence[_Words]) -> list[tuple[State, list[int]]]:
    """The places of the words that share a state, so that the model can process them together."""
    shared: dict[int, tuple[State, list[int]]] = {}
    for place, each in enumerate(words):
        assert each.state is not None
        shared.setdefault(id(each.state), (each.state, []))[1].append(place)
    return list(shared.values())


def _joined(each: _Beginning) -> str:
    """The text of a prefix, with its letters as the last word."""
    return f"{each.words.text} {each.letters}".strip(SPACE)


def _sum(one: float, other: float) -> float:
    """ln(exp(one) + exp(other))."""
    if one < other:
        one, other = other, one
    return one if other == -math.inf else one + math.log1p(math.exp(other - one))
