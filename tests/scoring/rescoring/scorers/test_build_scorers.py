"""The scorers that options ask for: names, text rules, mixtures, and contradictions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import charlm
from charlm.errors import ConfigError, DataError
from charlm.nbest.ranking.weights import Origin, Weights
from charlm.nbest.references.fingerprint import Fingerprint
from charlm.nbest.scorers import FunctionScorer
from charlm.scoring.rescoring.options.rescoring_options import ListOptions, RescoringOptions
from charlm.scoring.rescoring.scorers.build_scorers import Scorers, build_scorers
from charlm.scoring.rescoring.scorers.neural import NeuralScorer
from charlm.text.corpus.normalisation.normalisation import Normalisation

OWN = FunctionScorer(lambda sentences: [[-1.0] * (len(words) + 1) for words in sentences])
ARPA = "\\data\\\nngram 1=4\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n-0.25\ta\n\n\\end\\\n"


def build(models: Sequence[Path] = (), lms: Sequence[Path] = (), **said: object) -> Scorers:
    return build_scorers(RescoringOptions(model=models, lm=lms, **said))  # type: ignore[arg-type]


@pytest.fixture
def arpa(tmp_path: Path) -> Path:
    path = tmp_path / "a.arpa"
    path.write_text(ARPA)
    return path


def test_names_say_the_kind_and_the_number(run: Path, arpa: Path) -> None:
    made = build([run, run], [arpa, arpa], scorer=OWN)
    assert list(made.named) == ["nn", "nn2", "kn", "kn2", "own"]
    assert made.named["nn2"] == str(run)
    assert [scorer.name for scorer in made.scorers] == list(made.named)
    assert made.mixture == {}


def test_the_first_scorer_says_what_is_known(run: Path, arpa: Path) -> None:
    words = ["a", "h", "zz"]
    assert [build([run], [arpa]).is_known(w) for w in words] == [True, True, False]
    assert [build([], [arpa]).is_known(w) for w in words] == [True, False, False]
    assert [build([], scorer=OWN).is_known(w) for w in words] == [True, True, True]
    assert build().is_known is None


def test_lower_case_comes_on_top_of_a_runs_rules_and_raw_takes_them_away(
    saved_run: Callable[..., Path],
) -> None:
    run = saved_run("zeros", normalisation=Normalisation(tokenise="simple"))
    found = [
        build([run], **options).normalisation
        for options in ({}, {"lower": True}, {"raw": True}, {"raw": True, "lower": True})
    ]
    assert found == [
        Normalisation(tokenise="simple"),
        Normalisation(tokenise="simple", lower=True),
        None,
        Normalisation(unicode="none", lower=True),
    ]


LETTERS = "".join(f"-0.{number}\t{word}\n" for number, word in enumerate("abcdefgh", 1))
SAME = f"\\data\\\nngram 1=11\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n{LETTERS}\n\\end\\\n"


def test_a_mixture_is_one_scorer_with_the_weights_that_mix_finds(run: Path, tmp_path: Path) -> None:
    text, lm = tmp_path / "dev.txt", tmp_path / "same.arpa"
    text.write_text("a b\na a a\nzz\n")
    lm.write_text(SAME)
    made = build([run], [lm], mix=text)
    (mixed,) = made.scorers
    assert list(made.mixture) == ["nn", "kn"]
    found = charlm.mix([run, lm], text=text, state="sentence")
    expected = [stream.weight for stream in found.streams]
    assert list(made.mixture.values()) == pytest.approx(expected, abs=1e-5)
    parts = [part.score([["a", "b"]])[0].log_probs for part in made.parts]
    by_hand = np.log(sum(w * np.exp(p) for w, p in zip(made.mixture.values(), parts, strict=True)))
    assert mixed.name == "nn"
    assert mixed.score([["a", "b"]])[0].log_probs == pytest.approx(by_hand)


def test_a_text_without_a_sentence_has_no_weights(run: Path, arpa: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("")
    with pytest.raises(DataError) as caught:
        build([run], [arpa], mix=text)
    assert str(caught.value) == f"{text}: no sentence; expected one a line"


def test_models_of_other_words_do_not_mix(run: Path, arpa: Path, tmp_path: Path) -> None:
    text, lm = tmp_path / "dev.txt", tmp_path / "same.arpa"
    lm.write_text(SAME)
    expected = (
        "mixture: nn knows 'b' and kn does not; expected the same words of both; estimate an "
        "n-gram model with --vocab RUN, make one of two ARPA files (charlm mix A B --arpa FILE), "
        "or weigh them as features, unmixed"
    )
    for said in ({"mix_weights": ".5,.5"}, {"mix": text}):
        text.write_text("a b\n")
        with pytest.raises(ConfigError) as caught:
            build([run], [arpa], **said).scorers[0].score([["a", "b"]])
        assert str(caught.value) == expected
    with pytest.raises(ConfigError, match="mixture: kn2 knows 'b' and kn does not"):
        build([], [arpa, lm], mix=text)
    with pytest.raises(ConfigError, match=r"^--mix-weights 1,2: sum 3; expected numbers of 0"):
        build([run], [arpa], mix_weights="1,2")


def test_runs_of_other_words_do_not_mix(saved_run: Callable[..., Path], tiny_run: Path) -> None:
    run = saved_run("zeros")
    with pytest.raises(ConfigError) as caught:
        build([run, tiny_run], mix_weights="0.5,0.5")
    assert str(caught.value) == (
        f"mixture: {tiny_run} has another vocabulary than {run}; expected the same words of both; "
        "train one with --vocab, or weigh them as features, unmixed"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"models": [], "mix": "a"},
            "--mix: found no model; expected several; give --lm or another --model",
        ),
        (
            {"mix": "a", "mix_weights": "1"},
            "found --mix and --mix-weights; expected one of them; drop either",
        ),
        ({"mix": "a"}, "--mix: found one model; expected several; give --lm or another --model"),
        (
            {"mix_weights": "1"},
            "--mix-weights: found one model; expected several; give --lm or another --model",
        ),
        (
            {"models": [], "scorer": OWN, "open_vocabulary": True},
            "--open-vocabulary: found no --model; expected a run with a speller",
        ),
        (
            {"models": [], "device": "cuda"},
            "--device cuda: found no --model, and only models use it; drop it",
        ),
        (
            {"models": [], "context": "previous"},
            "--context previous: found no --model; expected one, since n-gram models begin every "
            "sentence anew; drop it",
        ),
        (
            {"models": [], "scorer": OWN, "unnormalised": True},
            "--unnormalised: scores without their sum are no probabilities to mix, and n-gram "
            "models have none; expected a --model alone; drop --unnormalised",
        ),
        (
            {"scorer": FunctionScorer(lambda s: [], name="nn")},
            "scorer 'nn': another goes by that name; expected a name of its own",
        ),
    ],
)
def test_what_does_not_go_together_is_one_line(
    run: Path, options: Mapping[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        build(**{"models": [run], **options})  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_weights_that_were_tuned_with_spelled_words_want_the_run(
    tmp_path: Path, arpa: Path
) -> None:
    lists, path = tmp_path / "lists.tsv", tmp_path / "w.json"
    lists.write_text("id\ttext\nu\ta\n")
    origin = Origin("wer", 0.1, 0, "0.2", Fingerprint(1, "ab", ("00",)), spelled=True)
    Weights({"kn": 1.0}, origin=origin).save(path)
    with pytest.raises(ConfigError) as caught:
        charlm.score(lists, lm=arpa, weights=path)
    assert str(caught.value) == (
        f"{path}: tuned with unknown words spelled: found no --model; expected a run with a speller"
    )
    assert charlm.score(lists, lm=arpa, weights=path, open_vocabulary=False).scorers


def test_models_have_to_read_the_same_words(saved_run: Callable[..., Path]) -> None:
    one = saved_run("zeros")
    other = saved_run("random", normalisation=Normalisation(lower=True))
    with pytest.raises(ConfigError) as caught:
        build([one, other])
    assert str(caught.value) == (
        f"{other}: other text rules than {one}; expected models that read the same words; score "
        "with one at a time, or --raw"
    )
    assert len(build([one, other], raw=True).scorers) == 2


def test_an_output_without_scores_cannot_do_without_their_sum(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = build([run], unnormalised=True)
    assert isinstance(made.parts[0], NeuralScorer)
    output = type(made.parts[0].walker.model.output)
    monkeypatch.setattr(output, "has_scores", False)
    with pytest.raises(ConfigError, match="tuned with it: its output has no scores of its own; "):
        build([run], unnormalised=True)


def test_without_their_sum_scores_differ_by_it_alone(run: Path) -> None:
    exact, rough = (build([run], unnormalised=which).scorers[0] for which in (False, True))
    pair = [["a"], ["b"]]
    first, second = ([score.log_probs[0] for score in each.score(pair)] for each in (exact, rough))
    assert first != pytest.approx(second)
    assert first[0] - first[1] == pytest.approx(second[0] - second[1], abs=1e-5)


def test_punctuation_that_a_run_was_trained_without_is_not_kept(
    saved_run: Callable[..., Path],
) -> None:
    run = saved_run("zeros", normalisation=Normalisation(punctuation="drop"))
    with pytest.raises(ConfigError, match="^--punctuation keep: .* was trained on text without"):
        build([run], punctuation="keep")
    for options in ({}, {"punctuation": "drop"}, {"punctuation": "keep", "raw": True}):
        assert build([run], **options)


def test_no_list_is_cut_where_more_hypotheses_are_scored_together(run: Path) -> None:
    for options, at_once in ((ListOptions(model=run, at_once=9000), 18000), (None, 8192)):
        made = build_scorers(options) if options else build([run])
        assert [each.at_once for each in made.neural] == [at_once]
