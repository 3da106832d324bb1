"""The baseline: estimated or loaded, written, measured; options that contradict each other."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from charlm import ConfigError, DataError, ngram_baseline
from charlm.ngram import baseline, model_sources
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.ngram.files.kenlm_model import BINARY_MAGIC
from charlm.ngram.model_sources import EstimationPlan, ModelInfo, model_of_text
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of

ONE_SOURCE = "expected one of --train TEXT, --counts FILE, --lm MODEL, or --data DIR alone"
LMPLZ_THAT_SAYS_NO = "#!/bin/sh\ncat > /dev/null\necho it broke >&2\nexit 1\n"


def sentence_ppl(result: Any) -> float:
    return float(result.texts[0].by_state["sentence"].ppl)


def test_a_corpus_directory_is_trained_on_and_measured(corpus_dir: Path) -> None:
    heard: list[ModelInfo] = []
    result = ngram_baseline(data=corpus_dir, order=3, on_model=heard.append)
    assert heard == [result.model]
    assert result.model.source == str(corpus_dir / "train.txt")
    assert result.model.order == len(result.model.sizes) == 3
    assert result.texts[0].name == str(corpus_dir / "test.txt")
    assert "|split:test|" in result.texts[0].signatures["sentence"]
    assert "|lm:kn3|train:" in result.texts[0].signatures["sentence"]


def test_the_counts_are_those_of_the_words_that_pruning_leaves(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b\nb c b\n")
    model, _, counts = model_of_text(tmp_path / "a.txt", EstimationPlan(order=2, prune=(1,)))
    found = dict(zip(model.words, counts.tolist(), strict=True))
    assert found == {"<unk>": 0, "<s>": 2, "</s>": 2, "b": 3}


def test_a_model_that_is_kept_answers_as_before(corpus_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "kn.arpa.gz"
    before = ngram_baseline(data=corpus_dir, order=3, out=out)
    told = before.to_dict()
    assert told["n_bytes"] == out.stat().st_size
    for engine in ("auto", "charlm"):
        after = ngram_baseline([corpus_dir / "test.txt"], lm=out, engine=engine)
        assert sentence_ppl(after) == pytest.approx(sentence_ppl(before), rel=1e-5)
        assert "|lm:3gram|model:" in after.texts[0].signatures["sentence"]
    out.unlink()
    assert before.to_dict() == told


def test_a_loaded_model_can_be_written_again(corpus_dir: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.arpa.gz", tmp_path / "2.arpa"
    ngram_baseline(train=corpus_dir / "train.txt", order=3, out=first)
    ngram_baseline(lm=first, out=second, start="srilm")
    assert "\n-99\t<s>\t" in second.read_text()
    result = ngram_baseline(corpus_dir / "test.txt", lm=second)
    expected = ngram_baseline(corpus_dir / "test.txt", lm=first)
    assert sentence_ppl(result) == pytest.approx(sentence_ppl(expected), rel=1e-6)


def test_a_pruned_estimate_and_a_pruned_file_are_one_model(
    corpus_dir: Path, tmp_path: Path
) -> None:
    whole, own, later = (tmp_path / name for name in ("whole.arpa", "own.arpa", "later.arpa"))
    train, test = corpus_dir / "train.txt", corpus_dir / "test.txt"
    before = ngram_baseline(test, train=train, order=3, out=whole)
    first = ngram_baseline(test, train=train, order=3, entropy_prune=1e-3, out=own)
    second = ngram_baseline(test, lm=whole, entropy_prune=1e-3, out=later)
    assert first.model.sizes == second.model.sizes
    assert before.model.n_ngrams > first.model.n_ngrams
    assert f"ngram 2={first.model.sizes[1]}\n" in own.read_text()
    assert sentence_ppl(second) == pytest.approx(sentence_ppl(first), rel=1e-5)
    assert sentence_ppl(ngram_baseline(test, lm=own)) == pytest.approx(
        sentence_ppl(first), rel=1e-5
    )
    assert "|entropy-prune:0.001|" in first.texts[0].signatures["sentence"]
    assert "entropy-prune" not in before.texts[0].signatures["sentence"]


def test_a_loaded_model_is_cut_to_an_order_before_all_else(
    corpus_dir: Path, tmp_path: Path
) -> None:
    train, test = corpus_dir / "train.txt", corpus_dir / "test.txt"
    whole, cut = tmp_path / "whole.arpa", tmp_path / "cut.arpa"
    before = ngram_baseline(train=train, order=4, out=whole)
    result = ngram_baseline(test, lm=whole, order=2, out=cut)
    assert (result.model.order, result.model.sizes) == (2, before.model.sizes[:2])
    assert "|lm:4gram|" in result.texts[0].signatures["sentence"]
    assert "|order:2|" in result.texts[0].signatures["sentence"]
    bigrams, kept = (
        path.read_text().partition("\\2-grams:\n")[2].partition("\n\n")[0].split("\n")
        for path in (whole, cut)
    )
    assert kept == ["\t".join(line.split("\t")[:2]) for line in bigrams]  # without back-offs
    for engine in ("auto", "charlm"):
        again = ngram_baseline(test, lm=cut, engine=engine)
        assert sentence_ppl(again) == pytest.approx(sentence_ppl(result), rel=1e-6)
    pruned = ngram_baseline(test, lm=cut, entropy_prune=1e-3)
    at_once = ngram_baseline(test, lm=whole, order=2, entropy_prune=1e-3)
    assert sentence_ppl(at_once) == pytest.approx(sentence_ppl(pruned), rel=1e-6)
    same = ngram_baseline(test, lm=whole, order=4, engine="charlm")
    assert same.texts == ngram_baseline(test, lm=whole, engine="charlm").texts


def test_a_model_is_not_cut_to_an_order_above_its_own(corpus_dir: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.arpa", tmp_path / "out.arpa"
    ngram_baseline(train=corpus_dir / "train.txt", order=2, out=whole)
    with pytest.raises(ConfigError) as caught:
        ngram_baseline(lm=whole, order=3, out=out)
    assert str(caught.value) == f"--order 3: {whole} has order 2; expected that or less"
    assert not out.exists()
    with pytest.raises(ConfigError, match="^--engine kenlm: neither writes nor changes a model; e"):
        ngram_baseline(corpus_dir / "test.txt", lm=whole, order=1, engine="kenlm")


def test_a_vocabulary_is_a_file_or_a_run(corpus_dir: Path, tmp_path: Path) -> None:
    words = [line.split() for line in (corpus_dir / "train.txt").read_text().splitlines()]
    inventory = inventory_of(words, size=8)
    inventory.save(tmp_path / "vocab.json")
    by_file = ngram_baseline(data=corpus_dir, vocab=tmp_path / "vocab.json", order=2)
    by_run = ngram_baseline(data=corpus_dir, vocab=tmp_path, order=2)
    assert by_file.model.sizes[0] == 9  # the words, and `<s>`
    assert sentence_ppl(by_file) == sentence_ppl(by_run)
    assert f"|vocab:{inventory.sha256[:12]}|" in by_file.texts[0].signatures["sentence"]


def test_a_list_of_words_is_a_vocabulary_as_well(tmp_path: Path) -> None:
    text, listed = tmp_path / "a.txt", tmp_path / "words.txt"
    decomposed = "cafe\u0301"  # stays decomposed
    text.write_text(f"the {decomposed} is new\nthe cat is here\n")
    listed.write_text(f"<s>\n</s>\n<unk>\nthe\r\n\n{decomposed}\nis\nowl\nthe\n")
    out = tmp_path / "a.arpa"
    result = ngram_baseline(text, train=text, vocab=listed, order=2, out=out)
    words = out.read_text().partition("\\2-grams:")[0].split("\t")[1::2]
    assert {word.split()[0] for word in words} >= {"the", decomposed, "is", "owl"}
    assert result.model.sizes[0] == 7
    assert result.texts[0].counts.n_oov == 3  # new, cat, here
    # As for a text with other words written as <unk>; the owl has its share without counts.
    mapped = tmp_path / "b.txt"
    mapped.write_text(f"the {decomposed} is <unk>\nthe <unk> is <unk>\n")
    assert sentence_ppl(ngram_baseline(mapped, lm=out)) == pytest.approx(sentence_ppl(result))


def test_a_list_of_words_may_come_through_a_pipe(tmp_path: Path) -> None:
    text, pipe = tmp_path / "a.txt", tmp_path / "pipe"
    text.write_text("the owl is new\n")
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as beside:
        beside.submit(pipe.write_text, "the\nowl\n")
        result = ngram_baseline(text, train=text, vocab=pipe, order=2)
    assert result.texts[0].counts.n_oov == 2  # is, new


def test_listed_noise_is_a_word_only_where_the_text_has_it(tmp_path: Path) -> None:
    text, listed, out = tmp_path / "a.txt", tmp_path / "words.txt", tmp_path / "a.arpa"
    text.write_text("the [laugh] cat\nthe cat\n")
    listed.write_text("!SIL 1\n[laugh] 2\n<noise> 3\nthe 4\ncat 5\nowl 6\n")
    result = ngram_baseline(train=text, vocab=listed, order=2, out=out)
    assert result.model.left_out == ("!SIL", "<noise>")
    listed.write_text("[laugh]\nthe\ncat\nowl\n")
    without = ngram_baseline(train=text, vocab=listed, order=2, out=tmp_path / "b.arpa")
    assert result.model.sizes == without.model.sizes
    text.write_text("owl [laugh] cat\n!SIL the\n")
    measured = [ngram_baseline(text, lm=path) for path in (out, tmp_path / "b.arpa")]
    assert sentence_ppl(measured[0]) == pytest.approx(sentence_ppl(measured[1]))


def test_a_list_without_a_word_of_the_text_is_refused(tmp_path: Path) -> None:
    text, listed = tmp_path / "a.txt", tmp_path / "words.txt"
    text.write_text("the cat\n")
    listed.write_text("THE\nCAT\n")
    with pytest.raises(DataError) as caught:
        ngram_baseline(text, train=text, vocab=listed, order=2)
    assert str(caught.value) == (
        f"{text}: holds none of the words of the list; expected them as the text has them, in its "
        "case and spelling"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the cat\n", ":1: found 'the cat'; expected one word a line, or Kaldi's words.txt"),
        ("{", ": not valid JSON"),
    ],
)
def test_what_is_no_list_of_words_is_said_in_one_line(
    content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "words.txt"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        ngram_baseline(path, train=path, vocab=path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_raw_text_read_by_options_has_the_model_and_figures_of_text_prepared_by_hand(
    tmp_path: Path,
) -> None:
    raw, by_hand = tmp_path / "raw.txt", tmp_path / "by-hand.txt"
    raw.write_text("The cat sat, 3 times.\nThe Dog (a big one) sat.\n" * 3)
    by_hand.write_text("the cat sat , N times .\nthe dog ( a big one ) sat .\n" * 3)
    first, second = tmp_path / "1.arpa", tmp_path / "2.arpa"
    rules: dict[str, Any] = {"lower": True, "tokenise": "simple", "numbers": True}
    found = ngram_baseline(raw, train=raw, order=2, out=first, **rules)
    expected = ngram_baseline(by_hand, train=by_hand, order=2, out=second)
    assert first.read_bytes() == second.read_bytes()
    assert found.texts[0].by_state["sentence"].sums == expected.texts[0].by_state["sentence"].sums
    assert "|norm:none+lower+simple+numbers|" in found.texts[0].signatures["sentence"]
    loaded = ngram_baseline(raw, lm=second, engine="charlm", **rules)
    known = ngram_baseline(by_hand, lm=second, engine="charlm")
    assert sentence_ppl(loaded) == sentence_ppl(known)
    (unread,) = ngram_baseline(raw, lm=second, engine="charlm").texts
    assert "known by --lower --tokenise simple --numbers: " in unread.advice
    assert "|norm:raw|" in unread.signatures["sentence"]


def test_pruning_stands_in_the_signature_and_leaves_ngrams_out(corpus_dir: Path) -> None:
    whole = ngram_baseline(data=corpus_dir, order=3)
    pruned = ngram_baseline(data=corpus_dir, order=3, prune="0 0 1")
    assert pruned.model.sizes[2] < whole.model.sizes[2]
    assert "|lm:kn3|prune:0,0,1|" in pruned.texts[0].signatures["sentence"]


def test_lmplz_is_asked_where_it_is_named(corpus_dir: Path, tmp_path: Path) -> None:
    program = tmp_path / "lmplz"
    program.write_text(LMPLZ_THAT_SAYS_NO)
    program.chmod(0o755)
    with pytest.raises(DataError, match="it broke"):
        ngram_baseline(data=corpus_dir, lmplz=program)
    assert [path.name for path in tmp_path.iterdir()] == ["lmplz"]


def test_lmplzs_model_is_kept_as_binary_or_arpa_and_only_loaded_to_be_asked(
    corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_arpa(model_of_text(corpus_dir / "train.txt", EstimationPlan(2))[0], tmp_path / "a.arpa")
    (tmp_path / "lmplz").write_text(
        f"#!/bin/sh\n/bin/cat > /dev/null\n/bin/cat {tmp_path}/a.arpa\n"
    )
    (tmp_path / "build_binary").write_text('#!/bin/sh\n/bin/cat "$2" > "$3"\n')
    for name in ("lmplz", "build_binary"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()  # of the user's, which is in nobody's way
    asked = ngram_baseline(data=corpus_dir, order=2, lmplz=tmp_path / "lmplz")
    own = ngram_baseline(data=corpus_dir, order=2)
    assert sentence_ppl(asked) == pytest.approx(sentence_ppl(own), rel=1e-5)
    monkeypatch.setattr(baseline, "model_in_file", pytest.fail)  # it might not fit into memory
    ngram_baseline(train=corpus_dir / "train.txt", lmplz=tmp_path / "lmplz", out=tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == (tmp_path / "a.arpa").read_bytes()
    out = tmp_path / "b.arpa"
    ngram_baseline(train=corpus_dir / "train.txt", lmplz=tmp_path / "lmplz", out=out, start="srilm")
    assert "\n-99\t<s>\t" in out.read_text()


def test_lmplz_is_refused_a_vocabulary_with_words_that_do_not_occur(
    corpus_dir: Path, tmp_path: Path
) -> None:
    Inventory(("</s>", "<unk>", "cat", "owl", "fox"), (1,) * 5, ()).save(tmp_path / "v.json")
    program = tmp_path / "lmplz"
    program.write_text(LMPLZ_THAT_SAYS_NO)
    program.chmod(0o755)
    with pytest.raises(DataError) as caught:
        ngram_baseline(data=corpus_dir, lmplz=program, vocab=tmp_path / "v.json")
    assert str(caught.value) == (
        f"{corpus_dir}/train.txt: 2 words of the vocabulary do not occur in it, 'owl' the first; "
        "lmplz expects all in the text; use --engine charlm"
    )
    assert ngram_baseline(data=corpus_dir, vocab=tmp_path / "v.json").model.sizes[0] == 6
    listed = tmp_path / "words.txt"  # its noise label need not occur
    listed.write_text("cat\n!SIL\nowl\n")
    with pytest.raises(DataError, match="1 words of the vocabulary do not occur in it, 'owl'"):
        ngram_baseline(data=corpus_dir, lmplz=program, vocab=listed)


def test_unk_in_capitals_is_a_word_of_a_model_that_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("a <UNK>\nb <UNK>\n<UNK> a\n")
    model = ngram_baseline(text, train=text, order=2)
    assert model.texts[0].counts.n_oov == 0
    monkeypatch.setattr(model_sources, "estimate_counted", pytest.fail)
    for out in (tmp_path / "a.arpa", tmp_path / "a.arpa.gz"):
        with pytest.raises(DataError, match=r"a.txt: word '<UNK>', which readers of ARPA take for"):
            ngram_baseline(train=text, out=out)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_model_comes_from_a_pipe_with_the_signature_of_its_file(
    corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, test = tmp_path / "a.arpa.gz", corpus_dir / "test.txt"
    ngram_baseline(train=corpus_dir / "train.txt", order=2, out=out)
    by_file = ngram_baseline(test, lm=out, engine="charlm")
    with open(out, "rb") as file:
        monkeypatch.setattr("sys.stdin", TextIOWrapper(file))
        by_pipe = ngram_baseline(test, lm="-")
    assert by_pipe.texts == by_file.texts
    assert by_pipe.model.source == "standard input"
    assert by_pipe.model.sizes == by_file.model.sizes


@pytest.mark.parametrize(
    ("text", "message"), [("nowhere.txt", "no such file; expected a text$"), (".", "is a folder; ")]
)
def test_a_missing_text_is_missed_before_the_work(
    corpus_dir: Path, text: str, message: str
) -> None:
    with pytest.raises(DataError, match=f"^{text}: {message}"):
        ngram_baseline([text], train=corpus_dir / "train.txt", on_model=pytest.fail)


def test_kenlm_writes_no_model(tmp_path: Path) -> None:
    (tmp_path / "a.arpa").write_text("\\data\\\n")
    with pytest.raises(ConfigError) as caught:
        ngram_baseline(lm=tmp_path / "a.arpa", engine="kenlm", out=tmp_path / "b.arpa")
    assert str(caught.value) == (
        "--engine kenlm: neither writes nor changes a model; expected --engine charlm"
    )


@pytest.mark.parametrize("engine", ["auto", "kenlm"])
def test_no_arpa_file_is_made_of_a_binary(tmp_path: Path, engine: Any) -> None:
    (tmp_path / "a.bin").write_bytes(BINARY_MAGIC)
    with pytest.raises(ConfigError) as caught:
        ngram_baseline(lm=tmp_path / "a.bin", engine=engine, out=tmp_path / "b.arpa")
    assert str(caught.value) == (
        f"{tmp_path}/a.bin: KenLM's binary, of which no other model can be made; expected an ARPA "
        "file"
    )


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, f"^{ONE_SOURCE}$"),
    ({"train": "t", "lm": "m"}, f"^{ONE_SOURCE}$"),
    ({"files": ["a"], "data": "d"}, r"^found both files and --data; expected one of them; give ei"),
    ({"train": "t"}, r"^nothing to do: expected --out FILE, or texts to measure$"),
    ({"lm": "m"}, r"^nothing to do: expected --out FILE, or texts to measure$"),
    ({"train": "t", "engine": "x"}, r"^engine: found 'x'; expected one of 'auto', 'charlm', 'kenl"),
    ({"lm": "m", "engine": "lmplz"}, r"^lmplz estimates, and --lm loads; expected one of them; dr"),
    ({"lm": "m", "lmplz": "l"}, r"^lmplz estimates, and --lm loads; expected one of them; drop ei"),
    ({"train": "t", "engine": "kenlm"}, r"^--engine kenlm: expected --engine charlm or lmplz to e"),
    (
        {"train": "t", "engine": "charlm", "lmplz": "l"},
        r"^--engine charlm and --lmplz: expected --engine charlm or lmplz to estimate a model$",
    ),
    ({"train": "t", "start": "x"}, r"^start: found 'x'; expected one of 'lmplz', 'srilm' or None$"),
    ({"train": "t", "split": "valid"}, r"^--split valid: expected --data DIR, of which it is a pa"),
    ({"train": "-", "vocab": "-", "files": ["x"]}, r"^standard input: named twice"),
    ({"train": "t", "map": "-", "vocab": "-"}, r"^standard input: named twice"),
    ({"lm": "m", "lower": True}, r"^--lower and the like: found no text to measure; expected one"),
    ({"lm": "-", "files": ["-"]}, r"^standard input: named twice; expected it once"),
    (
        {"lm": "m", "prune": "0"},
        r"^--prune is for an estimate, and --lm loads; expected one of them",
    ),
    ({"train": "t", "prune": "0,x"}, r"^--prune '0,x': expected counts from unigrams on, as 0,0,1"),
    (
        {"train": "t", "prune": "0,2,1"},
        r"^--prune 0,2,1: expected counts that do not fall, as 0,0,",
    ),
    (
        {"train": "t", "prune": ""},
        r"^--prune '': expected counts from unigrams on, as 0,0,1; SRILM's -prune T is charlm n",
    ),
    (
        {"train": "t", "lmplz": sys.executable, "entropy_prune": 1e-8},
        r"^--entropy-prune: prunes no model on the disk, where lmplz leaves it; expected --lm ",
    ),
    ({"train": "t", "lmplz": "nowhere"}, r"^--lmplz nowhere: .+; expected KenLM's lmplz"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_options_that_make_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    out = {} if "nothing to do" in message else {"out": "x.arpa"}
    with pytest.raises(ConfigError, match=message):
        ngram_baseline(**options, **out)


def test_an_empty_training_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(DataError, match=r"a.txt: no sentence; expected one a line$"):
        ngram_baseline(train=tmp_path / "a.txt", out=tmp_path / "a.arpa")
