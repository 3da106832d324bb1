"""Sentences through a noisy channel and back by beam search, under several models.

Weights (alpha, beta, what an unknown word costs) are found for every system on 100-best lists of
the sentences of valid.txt, decoded anew with what was found, and found again; those of test.txt are
decoded with the last. Writes a row a system: WER with its gain over `kn` and the 95 % interval of
1,000 draws of sentences, CER, and the recall of words outside the vocabulary.
"""

import argparse
import functools
import importlib.util
import math
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import jiwer
import numpy as np
from channel import Channel

import charlm
from charlm.decoders import PyctcdecodeLM, ctc_beam_search

BEAM = {"beam_width": 48, "beam_margin": 10.0}
HEADER = (
    *("noise", "system", "decoder", "alpha", "beta", "offset"),
    *("WER", "against kn (95 %)", "CER", "recall of unknown", "s"),
)
FIRST = (0.5, 1.5, -10.0)
ALPHAS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.25, 1.5, 2.0]
BETAS = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 6.0, 8.0, 10.0, 12.0]
OFFSETS = [-32.0, -24.0, -16.0, -12.0, -9.0, -6.0, -4.0, -2.0, 0.0, 2.0]
Weights = tuple[float, float, float]  # alpha, beta and offset


class Row(NamedTuple):
    """A hypothesis, and what its score is made of."""

    text: str
    log_prob: float
    lm_log_prob: float
    n_words: int
    n_unknown: int


class System:
    """A model, and the weights that suit it."""

    def __init__(self, model: Any, *, letters: Sequence[str]) -> None:
        self.model, self.letters = model, letters
        self.weights = FIRST
        self.is_spelled = model is not None and model.speller is not None
        self.known = set(model.words) if model is not None else set()

    def search(self, log_probs: Any, *, n_best: int = 1) -> list[Row]:
        """The best texts by charlm's search."""
        alpha, beta, offset = self.weights
        found = ctc_beam_search(
            log_probs,
            alphabet=self.letters,
            model=self.model,
            alpha=alpha,
            beta=beta,
            unk_offset=0.0 if self.is_spelled else offset,
            typical_length=math.inf,
            n_best=n_best,
            **BEAM,
        )
        return [
            Row(
                each.text,
                each.log_prob,
                each.lm_log_prob,
                len(words := each.text.split()),
                0 if self.is_spelled else sum(word not in self.known for word in words),
            )
            for each in found
        ]

    def tune(self, frames: Sequence[Any], refs: Sequence[str], *, rounds: int = 2) -> None:
        """Find weights; what a spelled word costs is its spelling."""
        if self.model is None:
            return
        lists: list[set[Row]] = [set() for _ in refs]
        for _ in range(rounds):
            for own, each in zip(lists, frames, strict=True):
                own.update(self.search(each, n_best=100))
            offsets = [0.0] if self.is_spelled else OFFSETS
            tried = list(product(ALPHAS, BETAS, offsets))
            counts = sum(
                errors_of_best(sorted(own), ref, tried)
                for own, ref in zip(lists, refs, strict=True)
            )
            self.weights = tried[middle_of_best(counts, (len(ALPHAS), len(BETAS), len(offsets)))]


def errors_of_best(rows: Sequence[Row], ref: str, weights: Sequence[Weights]) -> Any:
    """The errors of a list's best row under each of the weights."""
    factors = [(1.0, alpha, beta, alpha * offset) for alpha, beta, offset in weights]
    scores = np.array([row[1:] for row in rows]) @ np.array(factors).T
    errors = np.array([n_errors(ref, row.text) for row in rows])
    return errors[scores.argmax(axis=0)]


def middle_of_best(counts: Any, shape: Sequence[int]) -> int:
    """Which of a grid's points has the fewest errors; of several the one amidst them."""
    best = np.flatnonzero(counts == counts.min())
    places = np.array(np.unravel_index(best, shape)).T
    return int(best[((places - places.mean(axis=0)) ** 2).sum(axis=1).argmin()])


def theirs(system: System) -> Callable[[Any], str]:
    """pyctcdecode's search with the same model, weights and beam."""
    from pyctcdecode import Alphabet, BeamSearchDecoderCTC

    alpha, beta, offset = system.weights
    lm = system.model and PyctcdecodeLM(
        system.model, alpha=alpha, beta=beta, unk_score_offset=offset / math.log(10)
    )
    decoder = BeamSearchDecoderCTC(Alphabet.build_alphabet(list(system.letters)), lm)
    beam = {"beam_width": BEAM["beam_width"], "beam_prune_logp": -BEAM["beam_margin"]}
    return lambda frames: str(decoder.decode_beams(frames, prune_history=False, **beam)[0][0])


@functools.lru_cache(1 << 18)
def n_errors(ref: str, hyp: str) -> int:
    found = jiwer.process_words(ref, hyp)
    return int(found.substitutions + found.deletions + found.insertions)


def recall(refs: Sequence[str], hyps: Sequence[str], known: set[str]) -> float:
    """The share of unknown words of the references that stand where they should."""
    n_found = n_all = 0
    for ref, hyp in zip(refs, hyps, strict=True):
        words = ref.split()
        unknown = {k for k, word in enumerate(words) if word not in known}
        n_all += len(unknown)
        for chunk in jiwer.process_words(ref, hyp).alignments[0]:
            if chunk.type == "equal":
                n_found += len(unknown & set(range(chunk.ref_start_idx, chunk.ref_end_idx)))
    return n_found / max(1, n_all)


def interval(errors: Sequence[int], others: Sequence[int], n_words: Sequence[int]) -> str:
    """The difference of two WERs in per cent, and where 95 % of its draws are."""
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, len(errors), (1000, len(errors)))
    apart = np.array(errors) - np.array(others)
    rates = 100 * apart[drawn].sum(axis=1) / np.array(n_words)[drawn].sum(axis=1)
    low, high = np.quantile(rates, (0.025, 0.975))
    return f"{100 * apart.sum() / sum(n_words):+.2f} ({low:+.2f} to {high:+.2f})"


class Table:
    """What decoders made of the test sentences, a row each; `kn` comes before its rivals."""

    def __init__(self, refs: Sequence[str], known: set[str]) -> None:
        self.refs, self.known = refs, known
        self.n_words = [len(ref.split()) for ref in refs]
        self._of_kn: dict[float, list[int]] = {}

    def tell(
        self, noise: float, name: str, decoder: str, hyps: list[str], weights: Any, began: float
    ) -> None:
        n, refs = len(hyps), self.refs[: len(hyps)]
        errors = [n_errors(ref, hyp) for ref, hyp in zip(refs, hyps, strict=True)]
        if (name, decoder) == ("kn", "charlm"):
            self._of_kn[noise] = errors
        row = [noise, name, decoder if n == len(self.refs) else f"{decoder}, {n} sentences"]
        row += weights or ("", "", "")
        row.append(f"{100 * sum(errors) / sum(self.n_words[:n]):.2f}")
        against = self._of_kn.get(noise)
        row.append(interval(errors, against[:n], self.n_words[:n]) if against else "")
        row.append(f"{100 * jiwer.process_characters(list(refs), hyps).cer:.2f}")
        row.append(f"{100 * recall(refs, hyps, self.known):.1f}")
        tell_row(*row, f"{time.perf_counter() - began:.0f}")


def tell_row(*cells: object) -> None:
    sys.stdout.write("\t".join(map(str, cells)) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="folder of train.txt, valid.txt and test.txt")
    parser.add_argument("--model", required=True, help="run directory, with a speller")
    parser.add_argument("--speller", help="run directory of the speller, if it is another's")
    parser.add_argument("--lm", required=True, help="ARPA file over the same words")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.035, 0.08])
    parser.add_argument("--valid", type=int, default=300, help="sentences to tune on")
    parser.add_argument("--test", type=int, default=500)
    parser.add_argument("--longest", type=int, default=110, help="letters of a sentence")
    parser.add_argument("--systems", default="none,kn,kn-spelled,neural,neural-spelled")
    parser.add_argument("--pyctcdecode", type=int, default=0, help="test sentences for it, too")
    options = parser.parse_args()
    if options.pyctcdecode and importlib.util.find_spec("pyctcdecode") is None:
        parser.error("--pyctcdecode: not installed; pip install --no-deps pyctcdecode pygtrie")
    letters = "".join(sorted(set((options.corpus / "train.txt").read_text("utf-8")) - {"\n"}))

    def sentences(split: str, n: int) -> list[str]:
        lines = (options.corpus / f"{split}.txt").read_text("utf-8").split("\n")
        kept = [" ".join(line.split()) for line in lines if set(line) <= set(letters)]
        kept = [line for line in kept if 20 < len(line) <= options.longest]
        return [kept[k] for k in np.random.default_rng(1).permutation(len(kept))[:n]]

    refs, dev = sentences("test", options.test), sentences("valid", options.valid)
    speller = options.speller or options.model
    models = {
        "none": lambda: None,
        "kn": lambda: charlm.load(options.lm),
        "kn-spelled": lambda: charlm.load(options.lm, open_vocabulary=speller),
        "neural": lambda: charlm.load(options.model, device="cpu"),
        "neural-spelled": lambda: charlm.load(options.model, device="cpu", open_vocabulary=speller),
    }
    known = set(charlm.load(options.lm).words)
    table = Table(refs, known)
    n_unknown = sum(word not in known for ref in refs for word in ref.split())
    tell_row(f"test: {len(refs)} sentences, {sum(table.n_words)} words, {n_unknown} unknown")
    tell_row(*HEADER)
    for noise in options.noise:
        channel = Channel(letters, noise=noise, seed=1)
        frames = [channel.log_probs(ref, number=k) for k, ref in enumerate(refs)]
        dev_frames = [channel.log_probs(ref, number=10**6 + k) for k, ref in enumerate(dev)]
        tell = functools.partial(table.tell, noise)
        tell("none", "greedy", [channel.greedy(each) for each in frames], None, time.perf_counter())
        for name in options.systems.split(","):
            system = System(models[name](), letters=channel.alphabet)
            began = time.perf_counter()
            system.tune(dev_frames, dev)
            weights = system.weights if system.model else None
            hyps = [system.search(each)[0].text for each in frames]
            tell(name, "charlm", hyps, weights, began)
            if options.pyctcdecode:
                search, began = theirs(system), time.perf_counter()
                hyps = [search(each) for each in frames[: options.pyctcdecode]]
                tell(name, "pyctcdecode", hyps, weights, began)


if __name__ == "__main__":
    sys.exit(main())
