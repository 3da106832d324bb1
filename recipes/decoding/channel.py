"""Letters' posteriors as a recogniser trained with CTC might give them, made of written sentences.

Each letter is shown in one or two frames, often with a blank behind it. Some are shown as another
(each has five that it is taken for, the first most often), some not at all, some where there is
none; what was meant keeps a share of the frame. Every frame is drawn from a Dirichlet distribution
around that. The same seed, noise and sentence number give the same frames.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CONFUSED, LOST, ADDED = 0.6, 0.25, 0.15  # shares of the errors
MEANT = (0.1, 0.45)  # what is left for the letter that was meant, where another is shown
REPEATED, BLANKS = 0.3, 0.6  # letters of two frames, and with a blank behind them
FLOOR = 0.02  # of the mass, over all letters
PEAKED = 20.0  # the Dirichlet's concentration


class Channel:
    """From sentences to frames; `noise` is the share of letters with an error."""

    def __init__(self, letters: str, *, noise: float, seed: int) -> None:
        self.alphabet = ["", *letters]
        self._ids = {letter: k for k, letter in enumerate(self.alphabet)}
        self._noise, self._seed = noise, seed
        n = len(self.alphabet)
        rng = np.random.default_rng(seed)
        self._taken_for = [rng.permutation(np.delete(np.arange(1, n), k - 1))[:5] for k in range(n)]
        self._ranks = 1 / np.arange(1, 6) / sum(1 / k for k in range(1, 6))

    def log_probs(self, text: str, *, number: int) -> Floats:
        """ln P of each letter in each frame, (T, 1 + letters)."""
        rng = np.random.default_rng((self._seed, number))
        means: list[Floats] = []
        for letter, after in zip(text, f"{text[1:]} ", strict=True):
            meant = shown = self._ids[letter]
            if rng.random() < self._noise:
                kind = rng.choice(3, p=(CONFUSED, LOST, ADDED))
                if kind == 0:
                    shown = int(rng.choice(self._taken_for[meant], p=self._ranks))
                elif kind == 1:
                    shown = 0
                else:
                    other = int(rng.integers(1, len(self.alphabet)))
                    means += [self._mean(other, 0, rng), self._mean(0, 0, rng)]
            means += [self._mean(shown, meant, rng)] * (1 + (rng.random() < REPEATED))
            if letter == after or rng.random() < BLANKS:
                means.append(self._mean(0, 0, rng))
        frames = [rng.dirichlet(PEAKED * mean) for mean in means]
        return np.log(np.maximum(frames, 1e-10))

    def _mean(self, shown: int, meant: int, rng: np.random.Generator) -> Floats:
        mean = np.full(len(self.alphabet), FLOOR / len(self.alphabet))
        share = rng.uniform(*MEANT) if shown != meant else 0.0
        mean[shown] += (1 - FLOOR) * (1 - share)
        mean[meant] += (1 - FLOOR) * share
        return mean

    def greedy(self, log_probs: Floats) -> str:
        """The likeliest letter of each frame, repetitions and blanks taken out."""
        best = log_probs.argmax(axis=1)
        kept = best[np.flatnonzero(np.diff(best, prepend=-1))]
        return " ".join("".join(self.alphabet[k] for k in kept).split())
