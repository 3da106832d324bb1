"""Criteria against closed forms on a few words, and the scores that they lead to."""

import math
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.contract import Output
from charlm.model.outputs.softmax import Softmax
from charlm.training.recipe.criteria import (
    CRITERIA,
    SAMPLE_SIZES,
    CrossEntropy,
    NoiseContrastive,
    SampledSoftmax,
    SelfNormalised,
    drawn_noise,
    drawn_sample,
    inclusion_chances,
)

if TYPE_CHECKING:
    from charlm.model.contract import Encoder
    from charlm.text.vocabulary.vocabulary import Inventory

N_WORDS = 5
UNIGRAMS = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05])


class Table(Output):
    """Scores that do not look at the context: one free number a word."""

    has_scores = True
    has_table = True

    def __init__(self) -> None:
        super().__init__()
        self.s_V = nn.Parameter(torch.tensor([0.3, -0.2, 1.0, 0.0, -1.0]))

    def scores(self, h_NH: Tensor, words_K: Tensor | None = None) -> Tensor:
        scores_V = self.s_V if words_K is None else self.s_V[words_K]
        return scores_V.expand(len(h_NH), -1)

    def word_scores(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        return self.s_V[words_N]

    def log_z(self, h_NH: Tensor) -> Tensor:
        return self.s_V.logsumexp(0).expand(len(h_NH))

    def log_probs(self, h_NH: Tensor) -> Tensor:
        return self.scores(h_NH).log_softmax(-1)

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        own_N = -self.log_probs(h_NH).gather(1, words_N.clamp(min=0)[:, None])[:, 0]
        return torch.where(words_N >= 0, own_N, 0.0)


class Mute(Table):
    has_scores = False
    has_table = False


WORDS = torch.tensor([0, 3, -1, 2])
H = torch.zeros(4, 2)


def test_the_cross_entropy_is_the_outputs_own() -> None:
    output = Table()
    losses = CrossEntropy().losses(H, WORDS, output=output, unigrams_V=UNIGRAMS)
    assert torch.equal(losses.loss_N, output.nll(H, WORDS))
    assert losses.nll_N is losses.loss_N


def test_self_normalisation_adds_the_square_of_log_z() -> None:
    output = Table()
    losses = SelfNormalised(alpha=0.25).losses(H, WORDS, output=output, unigrams_V=UNIGRAMS)
    log_z = math.log(sum(math.exp(s) for s in output.s_V.tolist()))
    expected = [log_z - output.s_V[w].item() + 0.25 * log_z**2 if w >= 0 else 0.0 for w in WORDS]
    assert losses.loss_N.tolist() == pytest.approx(expected, abs=1e-6)
    assert losses.nll_N is not None
    torch.testing.assert_close(losses.nll_N, output.nll(H, WORDS))


def test_nce_is_the_sum_over_the_noise_by_hand() -> None:
    output = Table()
    torch.manual_seed(3)
    losses = NoiseContrastive(noise=7).losses(H, WORDS, output=output, unigrams_V=UNIGRAMS)
    torch.manual_seed(3)
    noise, _ = drawn_noise(UNIGRAMS, 7, power=1.0)
    s, q = output.s_V.tolist(), UNIGRAMS.tolist()
    total = 0.0
    for w in noise.tolist():  # p/(p + k q), with p = exp(s)
        total -= math.log(7 * q[w] / (math.exp(s[w]) + 7 * q[w]))
    expected = [
        total - math.log(math.exp(s[w]) / (math.exp(s[w]) + 7 * q[w])) if w >= 0 else 0.0
        for w in WORDS.tolist()
    ]
    assert losses.loss_N.tolist() == pytest.approx(expected, rel=1e-5)
    assert losses.nll_N is None


def test_nce_ends_where_the_scores_are_the_log_probabilities_of_the_words() -> None:
    """The words come from p, the noise from q; in the limit of many, exp(s) is p and Z is 1."""
    p = torch.tensor([0.1, 0.2, 0.3, 0.25, 0.15])
    torch.manual_seed(1)
    words = torch.multinomial(p, 40_000, replacement=True)
    p = torch.bincount(words, minlength=N_WORDS) / len(words)  # the closed form of this sample
    output = Table()
    optimiser = torch.optim.Adam(output.parameters(), lr=0.1)
    h = torch.zeros(1000, 2)
    for step in range(300):
        for group in optimiser.param_groups:
            group["lr"] = 0.1 if step < 150 else 0.01
        batch = words[torch.randint(len(words), (1000,))]
        losses = NoiseContrastive(noise=400).losses(h, batch, output=output, unigrams_V=UNIGRAMS)
        optimiser.zero_grad()
        losses.loss_N.mean().backward()
        optimiser.step()
    torch.testing.assert_close(output.s_V.detach().exp(), p, atol=0.02, rtol=0.05)
    assert float(output.log_z(h[:1]).detach()) == pytest.approx(0.0, abs=0.05)


def test_chances_are_in_proportion_to_the_unigrams_and_those_above_1_go_to_the_others() -> None:
    in_proportion = inclusion_chances(UNIGRAMS, 2, power=1.0)
    torch.testing.assert_close(in_proportion, torch.tensor([0.8, 0.6, 0.3, 0.2, 0.1]))
    # 4 times the unigrams are 1.6, 1.2, .6, .4, .2; the last three share 2 at .5 : .33 : .17, and
    # the first of those reaches 1, too.
    certain = inclusion_chances(UNIGRAMS, 4, power=1.0)
    torch.testing.assert_close(certain, torch.tensor([1.0, 1.0, 1.0, 2 / 3, 1 / 3]))
    of_roots = inclusion_chances(UNIGRAMS, 1, power=0.5)
    torch.testing.assert_close(of_roots, UNIGRAMS.sqrt() / UNIGRAMS.sqrt().sum())


@pytest.mark.parametrize("n_noise", [N_WORDS, N_WORDS + 1, 1_000_000])
def test_with_as_much_noise_as_there_are_words_every_word_is_drawn(n_noise: int) -> None:
    assert inclusion_chances(UNIGRAMS, n_noise, power=1.0).tolist() == [1.0] * N_WORDS


def test_a_sample_has_the_words_of_the_batch_and_what_is_drawn_with_one_over_its_chance() -> None:
    chances = torch.tensor([0.5, 0.0, 1.0, 0.0, 0.25])
    seen = set()
    for seed in range(50):
        torch.manual_seed(seed)
        sample = drawn_sample(chances, torch.tensor([3, -1, 2, 3]))
        weights = sample.log_weights_K.exp()
        counting = sample.words_K[weights > 0].tolist()
        assert len(sample.words_K) == len(weights) == SAMPLE_SIZES
        assert {2, 3} <= set(counting) <= {0, 2, 3, 4}
        assert len(counting) == len(set(counting))
        for word, weight in zip(counting, weights[weights > 0].tolist(), strict=True):
            assert weight == pytest.approx({0: 2.0, 4: 4.0}.get(word, 1.0))
        assert sample.own_N[1] == -1
        assert sample.words_K[sample.own_N[[0, 2, 3]]].tolist() == [3, 2, 3]
        seen.add(tuple(counting))
    assert seen == {(2, 3), (0, 2, 3), (2, 3, 4), (0, 2, 3, 4)}


def test_a_batch_without_words_has_a_sample_that_counts_nothing() -> None:
    sample = drawn_sample(torch.zeros(N_WORDS), torch.tensor([-1, -1]))
    assert sample.log_weights_K.exp().tolist() == [0.0] * SAMPLE_SIZES
    assert sample.own_N.tolist() == [-1, -1]


def test_over_all_draws_the_mean_of_z_is_the_sum_over_all_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = Softmax(2, cast("Inventory", SimpleNamespace(n_words=N_WORDS)), cast("Encoder", None))
    words, h = torch.tensor([4, 2, 4]), torch.tensor([[0.5, -1.0], [2.0, 0.0], [-1.0, 1.0]])
    chances, mean_z = inclusion_chances(UNIGRAMS, 2, power=0.5), torch.zeros(3)
    own = output.word_scores(h, words).exp()
    for drawn in product([True, False], repeat=3):  # words 0, 1 and 3
        is_drawn = torch.tensor([drawn[0], drawn[1], False, drawn[2], False])
        monkeypatch.setattr(torch, "rand_like", lambda _, drawn=is_drawn: 0.999 - drawn.float())
        nll = SampledSoftmax(noise=2, power=0.5).losses(
            h, words, output=output, unigrams_V=UNIGRAMS
        )
        probability = chances.where(is_drawn, 1 - chances)[[0, 1, 3]].prod()
        mean_z += probability * own * nll.loss_N.exp()
        assert nll.nll_N is None
    torch.testing.assert_close(mean_z, output.log_z(h).exp())


def test_noise_is_drawn_as_often_as_the_unigrams_to_their_power_say() -> None:
    torch.manual_seed(1)
    noise, log_kq = drawn_noise(UNIGRAMS, 100_000, power=0.5)
    q = UNIGRAMS.sqrt() / UNIGRAMS.sqrt().sum()
    shares = torch.bincount(noise, minlength=N_WORDS) / 100_000
    torch.testing.assert_close(shares, q, atol=0.005, rtol=0)
    torch.testing.assert_close(log_kq, (100_000 * q).log())


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("self-normalised", "offers no unnormalised scores; expected one that does"),
        ("nce", "offers no unnormalised scores; expected one that does"),
        ("sampled-softmax", "has no table of all words; expected one that has"),
    ],
)
def test_an_output_without_scores_is_refused_in_one_line(name: str, lacks: str) -> None:
    CRITERIA[name]().check(Table())
    with pytest.raises(ConfigError) as caught:
        CRITERIA[name]().check(Mute())
    assert str(caught.value) == (
        f"criterion {name!r}: the output {lacks}; use --set output.type=softmax, or criterion "
        "cross-entropy"
    )
    CrossEntropy().check(Mute())
