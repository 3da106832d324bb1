"""Criteria against closed forms on a few words, and the scores that they lead to."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.contract import Output
from charlm.training.recipe import criteria
from charlm.training.recipe.criteria import (
    CRITERIA,
    CrossEntropy,
    NoiseContrastive,
    SampledSoftmax,
    SelfNormalised,
    drawn_noise,
)

N_WORDS = 5
UNIGRAMS = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05])


class Table(Output):
    """Scores that do not look at the context: one free number a word."""

    has_scores = True

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
    optimiser = torch.optim.Adam(output.parameters(), lr=0.03)
    h = torch.zeros(1000, 2)
    for step in range(1200):
        for group in optimiser.param_groups:
            group["lr"] = 0.03 if step < 400 else 0.002
        batch = words[torch.randint(len(words), (1000,))]
        losses = NoiseContrastive(noise=400).losses(h, batch, output=output, unigrams_V=UNIGRAMS)
        optimiser.zero_grad()
        losses.loss_N.mean().backward()
        optimiser.step()
    torch.testing.assert_close(output.s_V.detach().exp(), p, atol=0.02, rtol=0.05)
    assert float(output.log_z(h[:1]).detach()) == pytest.approx(0.0, abs=0.05)


def test_the_sampled_softmax_is_that_over_the_word_and_the_noise_by_hand() -> None:
    output = Table()
    torch.manual_seed(3)
    losses = SampledSoftmax(noise=4).losses(H, WORDS, output=output, unigrams_V=UNIGRAMS)
    torch.manual_seed(3)
    noise, _ = drawn_noise(UNIGRAMS, 4, power=1.0)
    s = [x - math.log(4 * q) for x, q in zip(output.s_V.tolist(), UNIGRAMS.tolist(), strict=True)]
    expected = []
    for w in WORDS.tolist():
        others = [math.exp(s[n]) for n in noise.tolist()]
        expected.append(-math.log(math.exp(s[w]) / (math.exp(s[w]) + sum(others))) if w >= 0 else 0)
    assert losses.loss_N.tolist() == pytest.approx(expected, rel=1e-5)


def test_the_gradient_of_the_sampled_softmax_nears_that_of_the_softmax() -> None:
    output, h = Table(), torch.zeros(4, 2)
    torch.manual_seed(1)
    losses = SampledSoftmax(noise=200_000).losses(h, WORDS, output=output, unigrams_V=UNIGRAMS)
    losses.loss_N.sum().backward()
    sampled = output.s_V.grad
    output.s_V.grad = None
    output.nll(h, WORDS).sum().backward()
    assert output.s_V.grad is not None
    torch.testing.assert_close(sampled, output.s_V.grad, atol=0.01, rtol=0)


def test_the_sampled_softmax_ends_at_the_probabilities_with_any_number_of_noise_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over all draws of two noise words the gradient is 0 where exp(s) is twice p."""
    n_times = torch.tensor([2, 4, 6, 5, 3])
    words, output = torch.arange(N_WORDS).repeat_interleave(n_times), Table()
    output.s_V.data = (n_times / 10).log()
    mean = torch.zeros(N_WORDS)
    for pair in product(range(N_WORDS), repeat=2):
        noise = torch.tensor(pair)
        monkeypatch.setattr(
            criteria, "drawn_noise", lambda *_, noise=noise, **__: (noise, (2 * UNIGRAMS).log())
        )
        losses = SampledSoftmax(noise=2).losses(
            torch.zeros(len(words), 2), words, output=output, unigrams_V=UNIGRAMS
        )
        (gradient,) = torch.autograd.grad(losses.loss_N.sum(), output.s_V)
        mean += UNIGRAMS[noise].prod() * gradient
    torch.testing.assert_close(mean, torch.zeros(N_WORDS), atol=1e-5, rtol=0)


def test_noise_is_drawn_as_often_as_the_unigrams_to_their_power_say() -> None:
    torch.manual_seed(1)
    noise, log_kq = drawn_noise(UNIGRAMS, 100_000, power=0.5)
    q = UNIGRAMS.sqrt() / UNIGRAMS.sqrt().sum()
    shares = torch.bincount(noise, minlength=N_WORDS) / 100_000
    torch.testing.assert_close(shares, q, atol=0.005, rtol=0)
    torch.testing.assert_close(log_kq, (100_000 * q).log())


@pytest.mark.parametrize("name", ["self-normalised", "nce", "sampled-softmax"])
def test_an_output_without_scores_is_refused_in_one_line(name: str) -> None:
    CRITERIA[name]().check(Table())
    with pytest.raises(ConfigError) as caught:
        CRITERIA[name]().check(Mute())
    assert str(caught.value) == (
        f"criterion {name!r}: the output offers no unnormalised scores; expected one that does; "
        "use --set output.type=softmax, or criterion cross-entropy"
    )
    CrossEntropy().check(Mute())
