"""`charlm.sample`: what is drawn, what it depends on, and what is refused."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import charlm
from charlm.errors import ConfigError, DataError
from charlm.run.stored_weights import load_run
from charlm.scoring.likelihood.nll import FormVectors
from charlm.scoring.likelihood.sampling.draw import Warper
from charlm.scoring.likelihood.sampling.sample_rows import SentenceDrawer, SentencePlan
from charlm.scoring.likelihood.sampling.sampling import SampledSentence, prefix_words, sample
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.tokens import END, UNK

LIMIT = 12  # a model that is hardly trained seldom ends a sentence early


def drawn(run: Path, **options: object) -> list[SampledSentence]:
    wanted = {"max_length": LIMIT, "device": "cpu", "threads": 1, **options}
    return list(sample(run, **wanted).sentences)  # type: ignore[arg-type]


def texts(sentences: list[SampledSentence]) -> list[tuple[str, ...]]:
    return [each.words for each in sentences]


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_a_sentence_is_the_same_in_any_batch(tiny_run: Path, batch_size: int) -> None:
    expected = drawn(tiny_run, n=20, batch_size=7)
    found = drawn(tiny_run, n=20, batch_size=batch_size)
    assert texts(found) == texts(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.log10_probs == pytest.approx(other.log10_probs, abs=1e-5)


def test_a_sentence_is_the_same_whatever_the_number_drawn(tiny_run: Path) -> None:
    assert texts(drawn(tiny_run, n=3)) == texts(drawn(tiny_run, n=9))[:3]


def test_another_seed_gives_other_sentences(tiny_run: Path) -> None:
    assert texts(drawn(tiny_run, n=5, seed=1)) != texts(drawn(tiny_run, n=5, seed=2))


@pytest.mark.parametrize("prefix", ["", "the cat", "a <unk> cat"])
def test_log10_probs_are_what_the_model_gives_the_sentence(tiny_run: Path, prefix: str) -> None:
    model = charlm.load(tiny_run, device="cpu")
    sentences = drawn(tiny_run, n=12, prefix=prefix, temperature=2.0, top_k=9, top_p=0.9)
    assert {each.is_finished for each in sentences} == {True, False}
    for each in sentences:
        assert " ".join(each.words).startswith(prefix)
        expected = model.score(" ".join(each.words)).log10_probs
        n_drawn = len(each.words) + each.is_finished
        assert len(each.log10_probs) == n_drawn
        assert each.log10_probs == pytest.approx(expected[:n_drawn], abs=1e-5)
        assert each.log10_prob == pytest.approx(sum(expected[:n_drawn]), abs=1e-4)


def test_first_words_come_as_often_as_the_model_says(tiny_run: Path) -> None:
    run = load_run(tiny_run)
    n = 4000
    drawer = SentenceDrawer(
        FormVectors(run.model, run.inventory), SentencePlan(max_length=1), source="x"
    )
    firsts = [each.words[0] if each.words else "</s>" for each in drawer.sentences(n, batch_size=n)]
    with torch.no_grad():
        forms = FormVectors(run.model, run.inventory).vocabulary_VE[END]
        h_TBH, _ = run.model.context(forms[None, None], run.model.context.initial_state(1))
        probs = run.model.output.log_probs(h_TBH[0])[0].exp().numpy()
    counts = np.array([firsts.count(word) for word in run.inventory.words])
    # Five standard deviations of a binomial.
    assert (np.abs(counts - n * probs) < 5 * np.sqrt(n * probs * (1 - probs)) + 1).all()


def test_the_likeliest_word_alone_is_greedy_search(tiny_run: Path) -> None:
    run = load_run(tiny_run)
    (found,) = drawn(tiny_run, n=1, top_k=1)
    vectors, state, ids = FormVectors(run.model, run.inventory), None, [END]
    with torch.no_grad():
        state = run.model.context.initial_state(1)
        for _ in range(LIMIT):
            x_TBE = vectors.vocabulary_VE[ids[-1]][None, None]
            h_TBH, state = run.model.context(x_TBE, state)
            ids.append(int(run.model.output.log_probs(h_TBH[0]).argmax()))
            if ids[-1] == END:
                break
    words = [run.inventory.words[number] for number in ids[1:] if number != END]
    assert list(found.words) == words


def test_no_sentence_is_longer_than_the_limit(tiny_run: Path) -> None:
    sentences = drawn(tiny_run, n=30, max_length=4)
    assert max(len(each.words) for each in sentences) == 4
    assert all(each.is_finished or len(each.words) == 4 for each in sentences)
    result = sample(tiny_run, n=30, max_length=4, device="cpu", threads=1)
    assert result.n_cut == sum(not each.is_finished for each in sentences) > 0
    assert result.to_dict()["n_cut"] == result.n_cut


def test_unk_is_never_drawn_where_it_is_not_wanted(tiny_run: Path) -> None:
    def n_unks(*, no_unk: bool) -> int:
        found = drawn(tiny_run, n=30, no_unk=no_unk)
        return sum(each.words.count("<unk>") for each in found)

    assert n_unks(no_unk=False) > 0
    assert n_unks(no_unk=True) == 0


def test_a_speller_spells_each_unk_with_the_sentences_own_numbers(tiny_run: Path) -> None:
    run = load_run(tiny_run)

    def spell(generator: np.random.Generator) -> str:
        return f"new{generator.integers(1 << 30)}"

    def sentences(batch_size: int, *, by: str) -> list[tuple[str, ...]]:
        vectors = FormVectors(run.model, run.inventory, oov_input=by)
        plan = SentencePlan(seed=4, max_length=LIMIT, spell=spell)
        drawer = SentenceDrawer(vectors, plan, source="x")
        found = list(drawer.sentences(20, batch_size=batch_size))
        if by == "spelling":
            scored = charlm.load(tiny_run, device="cpu")
            scored._form_vectors = vectors  # the run itself reads unknown words as <unk>
            for each in found:
                expected = scored.score(" ".join(each.words)).log10_probs
                nats = np.array(expected[: len(each.log_probs)]) * np.log(10)
                assert each.log_probs == pytest.approx(nats, abs=1e-4)
        return [tuple(each.words) for each in found]

    assert sentences(3, by="spelling") == sentences(20, by="spelling")
    words = {word for each in sentences(20, by="unk") for word in each}
    assert "<unk>" not in words
    assert sum(word.startswith("new") for word in words) > 1


def test_an_open_vocabulary_asks_the_runs_speller(
    corpus_dir: Path, tiny_sizes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charlm.training.train_speller.MAX_EPOCHS", 2)
    options = {"epochs": 1, "overrides": tiny_sizes, "threads": 1, "device": "cpu"}
    charlm.train(  # type: ignore[arg-type]
        arch="char-small", data=corpus_dir, out=tmp_path / "run", speller=True, **options
    )
    closed = drawn(tmp_path / "run", n=20)
    opened = drawn(tmp_path / "run", n=20, open_vocabulary=True)
    model = charlm.load(tmp_path / "run", open_vocabulary=True, device="cpu")
    assert isinstance(model, charlm.Model)
    assert texts(model.sample(20, max_length=LIMIT)) == texts(opened)
    known = load_run(tmp_path / "run").inventory.word_ids
    n_spelled = 0
    for before, after in zip(closed, opened, strict=True):
        if "<unk>" not in before.words:
            assert after == before
            continue
        first = before.words.index("<unk>")  # from there on the speller uses random numbers too
        assert after.words[:first] == before.words[:first]
        assert after.words[first] not in known
        assert after.log10_probs[first] == pytest.approx(before.log10_probs[first], abs=1e-5)
        n_spelled += 1
    assert n_spelled > 2


def test_a_run_without_a_speller_has_no_open_vocabulary(tiny_run: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        drawn(tiny_run, open_vocabulary=True)
    assert str(caught.value).startswith(f"{tiny_run}: the run has no speller; expected one")


def test_sentences_are_told_in_order(tiny_run: Path) -> None:
    heard: list[SampledSentence] = []
    found = drawn(tiny_run, n=15, batch_size=4, on_sentence=heard.append)
    assert heard == found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "--batch-size 0: expected 1 or more"),
        (
            {"no_unk": True, "open_vocabulary": True},
            "--no-unk: leaves --open-vocabulary nothing to spell; drop one of them",
        ),
        ({"prefix": "a\nb"}, "--prefix 'a\\nb': found a line end; expected words between blanks"),
        ({"prefix": "a </s> b"}, "--prefix 'a </s> b': found </s> within a line; expected one"),
        ({"prefix": "a cat sat", "max_length": 3}, "3 words; expected fewer than --max-length 3"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    tiny_run: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        drawn(tiny_run, **{"prefix": "", **options})
    assert message in str(caught.value)


def test_messages_show_a_prefix_as_it_was_given_before_text_rules(tiny_run: Path) -> None:
    run = load_run(tiny_run)
    rules = Normalisation(lower=True, tokenise="simple")
    tokenised = replace(run, inventory=replace(run.inventory, normalisation=rules))
    with pytest.raises(ConfigError, match=re.escape(r"--prefix 'The\ncat': found a line end")):
        prefix_words("The\ncat", run=tokenised, max_length=9)
    with pytest.raises(ConfigError, match="--prefix 'The ZEBRA': 'zebra' is no word of "):
        prefix_words("The ZEBRA", run=tokenised, max_length=9)


def test_a_prefix_of_unknown_words_goes_in_by_spelling_alone(tiny_run: Path) -> None:
    assert load_run(tiny_run).oov_input == "unk"
    with pytest.raises(ConfigError) as caught:
        drawn(tiny_run, prefix="the zebra")
    assert str(caught.value) == (
        f"--prefix 'the zebra': 'zebra' is no word of {tiny_run}; expected its words; write <unk> "
        "there"
    )


def test_a_model_that_gives_no_numbers_is_called_broken(tiny_run: Path) -> None:
    run = load_run(tiny_run)
    with torch.no_grad():
        run.model.output.words.bias[UNK] = torch.nan
    vectors = FormVectors(run.model, run.inventory)
    drawer = SentenceDrawer(vectors, SentencePlan(warper=Warper(top_k=2)), source="exp/a")
    with pytest.raises(DataError) as caught:
        next(drawer.sentences(2, batch_size=2))
    assert str(caught.value) == (
        "exp/a: the model is broken: log probabilities are NaN or infinite; expected numbers; "
        "train it again"
    )
