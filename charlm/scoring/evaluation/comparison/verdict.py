"""The conclusion of a comparison: one sentence per model, and one on the two best models.

A sentence is about the state in which the model was trained, if that state was asked for. A
difference counts only if its 95 % interval does not contain zero.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from charlm.nbest.metrics.resampling import FEW
from charlm.run.folder import is_unfinished
from charlm.run.history import history_of
from charlm.scoring.evaluation.comparison.bootstrap import Difference
from charlm.scoring.evaluation.comparison.compare_kn_options import CompareKnOptions
from charlm.scoring.evaluation.comparison.kneser_ney import baseline_name
from charlm.scoring.evaluation.comparison.results import Pair
from charlm.scoring.evaluation.evaluate_options import State, states_of
from charlm.text.perplexity.perplexity import decimals_of

if TYPE_CHECKING:
    from charlm.scoring.evaluation.comparison.runs import Contender

STILL_FALLING = 0.995  # of the best epoch before: half a per cent better, so more epochs would help


def verdict(
    pairs: Sequence[Pair],
    members: "Sequence[Contender]",
    *,
    options: CompareKnOptions,
    n_units: int,
) -> tuple[str, ...]:
    """A sentence on each model (Kneser–Ney, the mixture, training), then one on the best two."""
    if n_units < FEW or not members:
        return ()
    baseline, sentences = baseline_name(options.order), []
    judged_in: dict[State, None] = {}
    for member in members:
        state = states_of(options.state, member.learned_single_sentences)[0]
        judged_in[state] = None
        found = _differences(pairs, state)
        mixture = f"{member.name}+{baseline}"
        alone = found[member.name, baseline]
        parts = [_alone(member.name, baseline, difference=alone)]
        if alone.ppl is not None and alone.ppl > 0:
            parts.append(_mixed(found[mixture, baseline], gains=f"gains {{}} on {baseline}"))
        else:
            parts.append(_mixed(found[mixture, member.name], gains="gains another {}"))
        history = history_of(member.path)
        if is_unfinished(member.path):
            parts.append(f"its training is unfinished, after epoch {len(history)}: --resume it")
        elif is_still_falling([record["valid_ppl"] for record in history]):
            parts.append("its validation was still falling: train longer")
        sentences.append(f"verdict, state {state}: {'; '.join(parts)}")
    names = [member.name for member in members]
    for state in judged_in:
        best = _best(names, _differences(pairs, state), baseline=baseline)
        if best:
            sentences.append(f"verdict, state {state}, best of {len(names)} models: {best}")
    return tuple(sentences)


def _differences(pairs: Sequence[Pair], state: State) -> dict[tuple[str, str], Difference]:
    return {(pair.first, pair.second): pair.by_state[state] for pair in pairs}


def _best(
    names: Sequence[str], found: Mapping[tuple[str, str], Difference], *, baseline: str
) -> str | None:
    """How the best model compares with the next best; None if there are fewer than two."""
    ppls = {name: found[name, baseline].ppl for name in names}  # minus the n-gram model's
    ranked = sorted((ppl, name) for name, ppl in ppls.items() if ppl is not None)
    if len(ranked) < 2:
        return None
    two = {name for _, name in ranked[:2]}
    first, second = next(names for names in found if set(names) == two)
    difference = found[first, second]
    ppl, low, high = difference.ppl, difference.low, difference.high
    if ppl is not None and low is not None and high is not None and low > 0:
        return f"{second} is better than {first} by {_interval(ppl, low, high)}"
    return _alone(first, second, difference=difference)


def is_still_falling(valid_ppls: Sequence[float]) -> bool:
    """Whether the last epoch gained so much that further epochs would help."""
    return len(valid_ppls) > 1 and valid_ppls[-1] < STILL_FALLING * min(valid_ppls[:-1])


def _alone(name: str, baseline: str, *, difference: Difference) -> str:
    ppl, low, high = difference.ppl, difference.low, difference.high
    if ppl is None or low is None or high is None:
        return f"{name} and {baseline} have no difference that is a number"
    if high < 0:
        return f"{name} is better than {baseline} by {_interval(-ppl, -high, -low)}"
    if low > 0:
        return f"{name} is worse than {baseline} by {_interval(ppl, low, high)}"
    return f"{name} and {baseline} cannot be told apart ({_short(low)} to {_short(high)} ppl)"


def _mixed(difference: Difference, *, gains: str) -> str:
    """The mixture against the better of its two components."""
    ppl, low, high = difference.ppl, difference.low, difference.high
    if ppl is None or low is None or high is None or high >= 0:
        return "the mixture gains nothing that can be told"
    return f"the mixture {gains.format(_interval(-ppl, -high, -low))}"


def _interval(value: float, *ends: float) -> str:
    return f"{_short(value)} ppl ({' to '.join(map(_short, ends))})"


def _short(value: float) -> str:
    """The value with about three digits; one that is not 0 is not shown as 0."""
    size = abs(value)
    least = 0 if size >= 100 else 1 if size >= 10 else 2
    return f"{value:z.{decimals_of([value], least=least)}f}"
