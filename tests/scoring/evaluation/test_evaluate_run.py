"""Perplexities under adaptation: rates of 0 change nothing, and what is read counts later."""

from pathlib import Path
from typing import Any

import pytest

from charlm import evaluate
from charlm.errors import ConfigError
from charlm.text.perplexity.perplexity import Evaluation, ScoredSentence

TEXT = "a b zz\n\nc d e f <unk> a a\nzz\n" + "h g h g h g\n" * 5


def evaluated(run: Path, *paths: Path, **options: Any) -> list[Evaluation]:
    return list(evaluate(run, files=paths, device="cpu", **options))


@pytest.mark.parametrize(
    ("mode", "rates"), [("dynamic", "rate=0"), ("cache", "lambda=0"), ("both", "rate=0,lambda=0")]
)
def test_rates_of_zero_change_no_bit(run: Path, text: Path, mode: str, rates: str) -> None:
    sentences: dict[str, list[ScoredSentence]] = {"none": [], mode: []}
    for adapt, heard in sentences.items():
        evaluated(
            run,
            text,
            adapt=adapt,
            adapt_rates=rates if adapt != "none" else "",
            state="carried",
            on_sentence=heard.append,
        )
    assert len(sentences["none"]) == 9
    assert sentences[mode] == sentences["none"]


@pytest.mark.parametrize(
    ("mode", "rates"),
    [
        ("dynamic", "segment=3,rate=1"),
        ("cache", "theta=0,lambda=0.5"),
        ("both", "segment=3,rate=1,theta=0,lambda=0.5"),
    ],
)
def test_what_comes_again_is_expected_and_every_text_begins_anew(
    run: Path, text: Path, mode: str, rates: str
) -> None:
    plain, *_ = evaluated(run, text)
    first, second = evaluated(run, text, text, adapt=mode, adapt_rates=rates)
    assert first.by_state == second.by_state
    for state, perplexity in plain.by_state.items():
        assert first.by_state[state].ppl < perplexity.ppl  # type: ignore[operator]
        assert first.signatures[state] == f"{plain.signatures[state]}|adapt:{first.adaptation}"
    assert first.adaptation.startswith(f"{mode}(s")
    assert first.to_dict()["adaptation"] == first.adaptation


def test_figures_under_adaptation_depend_on_the_order_of_sentences(
    run: Path, text: Path, tmp_path: Path
) -> None:
    other = tmp_path / "b.txt"
    other.write_text("".join(f"{line}\n" for line in reversed(TEXT.splitlines())))
    options: dict[str, Any] = {"adapt": "dynamic", "adapt_rates": "rate=1", "state": "sentence"}
    one, two = evaluated(run, text, other, **options)
    plain_one, plain_two = evaluated(run, text, other, state="sentence")
    same = plain_one.by_state["sentence"].ppl
    assert plain_two.by_state["sentence"].ppl == pytest.approx(same, rel=1e-6)
    assert one.by_state["sentence"].ppl != pytest.approx(two.by_state["sentence"].ppl, rel=1e-3)


def test_a_text_that_is_followed_is_read_by_one_process(run: Path, text: Path) -> None:
    with pytest.raises(ConfigError, match="--adapt: each token waits .*; expected one process"):
        evaluated(run, text, adapt="cache", processes=2)
