"""How far two models' next words are apart: python compare.py MODEL OTHER [CONTEXTS] < TEXT

Behind each of the first contexts (1,000): is the likeliest word the same, how many of the ten
likeliest are, and how far log-probabilities are apart over the vocabulary, in nats.
"""

import sys
from collections.abc import Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

import charlm

TEN = 10
Floats = npt.NDArray[np.float64]

if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
try:
    models = [charlm.load(path) for path in sys.argv[1:3]]
except charlm.CharlmError as error:
    sys.exit(str(error))
n_contexts = int(sys.argv[3]) if len(sys.argv) > 3 else 1000


def distributions(lines: list[str]) -> Iterator[tuple[Floats, Floats]]:
    """What both expect at a sentence's start and behind each of its words."""
    for line in lines:
        states = [model.start() for model in models]
        for word in [*models[0].tokens(line), None]:
            here = [m.distribution(state)[0] for m, state in zip(models, states, strict=True)]
            yield here[0], here[1]
            if word is not None:
                states = [m.step(s, [word]).state for m, s in zip(models, states, strict=True)]


found = []
for one, other in islice(distributions([raw.decode() for raw in sys.stdin.buffer]), n_contexts):
    ten, others = (np.argsort(-each, kind="stable")[:TEN] for each in (one, other))
    apart = np.abs(one - other)
    found.append((ten[0] == others[0], len(np.intersect1d(ten, others)), apart.mean(), apart.max()))
same, in_common, apart_mean, apart_max = np.array(found, dtype=float).T
sys.stdout.write(
    f"{len(found)} contexts: the same likeliest word in {100 * same.mean():.2f} %, "
    f"{in_common.mean():.2f} of {TEN} in common, {apart_mean.mean():.2g} nats apart on average, "
    f"{apart_max.max():.2g} at most\n"
)
