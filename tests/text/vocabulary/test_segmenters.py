"""Segmenters: sentencepiece as it encodes itself, Morfessor, and files with broken lines."""

import io
import math
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest
import sentencepiece

from charlm.errors import ConfigError, DataError
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.vocabulary.morphs import MorphModel
from charlm.text.vocabulary.segmenters import segmenter_of, with_morphs
from charlm.text.vocabulary.vocabulary import Inventory

STEMS = ("walk", "talk", "look", "jump", "play", "turn", "call", "ask")
WORDS = {
    stem + ending: 40 - 3 * rank - place
    for rank, stem in enumerate(STEMS)
    for place, ending in enumerate(("", "s", "ed", "ing", "er", "ers"))
}
UNSEEN = ("asklooker", "talkjumpings", "playcalled", "slooks")


def inventory_of_counts(counts: dict[str, int], **options: object) -> Inventory:
    words = ("</s>", "<unk>", *counts)
    return Inventory(words, (9, 1, *counts.values()), ("a",), **options)  # type: ignore[arg-type]


def morphs_of(source: str, counts: dict[str, int], **options: object) -> MorphModel:
    morphs = with_morphs(inventory_of_counts(counts, **options), segmenter_of(source)).morphs
    assert morphs is not None
    return morphs


def trained_by_hand(counts: dict[str, int], n_pieces: int) -> sentencepiece.SentencePieceProcessor:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([f"{word}\t{count}" for word, count in counts.items()]),
        model_writer=written,
        vocab_size=n_pieces,
        input_format="tsv",
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        character_coverage=1.0,
        hard_vocab_limit=False,
        bos_id=-1,
        eos_id=-1,
        num_threads=1,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())


def test_the_search_cuts_every_word_as_sentencepiece_encodes_it() -> None:
    theirs, ours = trained_by_hand(WORDS, 40), morphs_of("sentencepiece:40", WORDS)
    encoded = {word: tuple(theirs.encode(word, out_type=str)) for word in WORDS}
    assert {word: ours.search(word) for word in WORDS} == encoded
    assert ours.segmentations == encoded
    assert len(set(map(len, encoded.values()))) > 1


@pytest.mark.parametrize("form", UNSEEN)
def test_the_search_cuts_an_unseen_form_as_sentencepiece_does_into_pieces_that_are_kept(
    form: str,
) -> None:
    ours = morphs_of("sentencepiece:40", WORDS)
    encoded = tuple(trained_by_hand(WORDS, 40).encode(form, out_type=str))
    assert set(encoded) <= set(ours.morphs)
    assert ours.segment(form) == encoded


def test_pieces_that_stand_in_no_word_are_not_kept() -> None:
    theirs, ours = trained_by_hand(WORDS, 40), morphs_of("sentencepiece:40", WORDS)
    assert "j" in {theirs.id_to_piece(i) for i in range(len(theirs))}
    assert "j" not in ours.morphs
    assert set(ours.morphs) == {m for morphs in ours.segmentations.values() for m in morphs}


def test_the_counts_of_words_weigh_on_the_pieces() -> None:
    even = dict.fromkeys(WORDS, 1)
    seldom, frequent = (
        morphs_of("sentencepiece:40", even | dict.fromkeys(("talked", "talkers"), count))
        for count in (1, 500)
    )
    # Which of the two is cut less differs between versions of sentencepiece.
    assert any(
        len(frequent.segmentations[word]) < len(seldom.segmentations[word])
        for word in ("talked", "talkers")
    )


def test_sentencepiece_tells_nobody_and_gives_the_same_twice(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert morphs_of("sentencepiece:30", WORDS) == morphs_of("sentencepiece:30", WORDS)
    assert capfd.readouterr() == ("", "")


def test_more_pieces_than_words_can_have_are_as_many_as_there_are() -> None:
    assert set(morphs_of("sentencepiece:1000", {"ab": 3, "b": 1}).morphs) <= {"a", "b", "ab"}


def test_words_that_hold_what_sentencepiece_marks_with_are_segmented_like_others() -> None:
    model = morphs_of("sentencepiece:99", {"<unk>s": 5, "a\u2581b": 5, "\u2585c": 2, "c": 2})
    for word, morphs in model.segmentations.items():
        assert "".join(morphs) == word
    assert "<unk>" not in model.morphs
    assert model.ids("\u2585c")[0] == 1  # a block character that it reserves: the unknown morph


def test_words_are_segmented_as_far_as_they_are_read() -> None:
    model = morphs_of("sentencepiece:20", {"walking": 3, "walked": 2}, max_word_length=4)
    assert {"".join(morphs) for morphs in model.segmentations.values()} == {"walk"}


def test_a_known_word_has_all_morphs_of_a_file_however_little_of_it_is_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "morphs.tsv").write_text("walking\twalk ing\n")
    segmenter = segmenter_of(str(tmp_path / "morphs.tsv"))
    inventory = with_morphs(inventory_of_counts({"walking": 3}, max_word_length=4), segmenter)
    assert inventory.morph_ids("walking") == [4, 3]  # equally frequent: ing before walk
    assert inventory.morph_ids("walkings") == [4]  # unknown, it is read as walk


FILE = """\
undo\tun do
redo\tre + do
c+d\tc + d
+\t+

went\tgo ed
stranger\tstrange r
"""
IN_FILE = {"redo": 5, "went": 4, "undo": 3, "c+d": 2, "+": 1}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "morphs.tsv"
    path.write_text(FILE)
    return path


def test_a_file_gives_each_word_its_morphs(file: Path) -> None:
    model = morphs_of(str(file), IN_FILE)
    assert model.segmentations == {
        "redo": ("re", "do"),  # + between blanks separates morphs
        "went": ("go", "ed"),
        "undo": ("un", "do"),
        "c+d": ("c", "+", "d"),  # unless the word itself has it
        "+": ("+",),
    }


def test_morphs_go_by_falling_count_of_tokens_and_then_by_alphabet(file: Path) -> None:
    # do 5 + 3, re 5, ed and go 4, un 3, + 2 + 1, c and d 2
    assert morphs_of(str(file), IN_FILE).morphs == ("do", "re", "ed", "go", "+", "un", "c", "d")


def test_what_a_file_lacks_is_cut_by_the_shares_of_its_morphs_over_words(file: Path) -> None:
    model = morphs_of(str(file), {**IN_FILE, "reundo": 2, "dog": 1})
    assert model.segmentations["reundo"] == ("re", "un", "do")
    assert model.segmentations["dog"] == ("do", "g")
    assert model.ids("dog") == [3, 1]
    # Ten morphs in five words, do and + twice.
    costs = dict(zip(model.morphs, model.costs, strict=True))
    assert costs["do"] == pytest.approx(-math.log(2 / 10))
    assert costs["un"] == pytest.approx(-math.log(1 / 10))


def test_a_file_is_read_in_the_case_and_unicode_form_of_the_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "morphs.tsv"
    path.write_bytes("\ufeffCafe\u0301s\tCafe\u0301 s\r\n".encode())
    model = morphs_of(str(path), {"caf\u00e9s": 1}, normalisation=Normalisation(lower=True))
    assert model.segmentations == {"caf\u00e9s": ("caf\u00e9", "s")}


def test_a_plus_stands_between_morphs_with_blanks_around_it_or_without(tmp_path: Path) -> None:
    path = tmp_path / "morphs.tsv"
    path.write_text("undo\tun+do\ndogs\tdog + s\ncats\tcat +s\nc++\tc ++\na+b\ta + +b\n")
    words = {"undo": 1, "dogs": 1, "cats": 1, "c++": 1, "a+b": 1}
    assert morphs_of(str(path), words).segmentations == {
        "undo": ("un", "do"),
        "dogs": ("dog", "s"),
        "cats": ("cat", "+s"),
        "c++": ("c", "++"),
        "a+b": ("a", "+b"),
    }


BROKEN = "expected a word, TAB, and its morphs with a blank or + between them"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("undo un do", f"found 'undo un do'; {BROKEN}"),
        ("undo\t", f"found 'undo\\t'; {BROKEN}"),
        ("un do\tun do", f"found 'un do\\tun do'; {BROKEN}"),
        ("undo\tun\tdo", f"found 'undo\\tun\\tdo'; {BROKEN}"),
        (
            "went\twent",
            "'went' stands here with other morphs than before; expected one segmentation a word",
        ),
        ("undo\t" + "a " * 10_001, "found 10001 morphs; expected at most 10000"),
    ],
)
def test_a_broken_line_is_refused_with_its_number(file: Path, line: str, message: str) -> None:
    file.write_text(f"{FILE}{line}\n")
    with pytest.raises(DataError) as caught:
        morphs_of(str(file), IN_FILE)
    assert str(caught.value) == f"{file}:8: {message}"


def test_a_file_of_other_words_is_refused(file: Path) -> None:
    with pytest.raises(DataError) as caught:
        morphs_of(str(file), {"ab": 1})
    assert str(caught.value) == (
        f"{file}: holds no word of the vocabulary; expected lines of `word TAB morphs`"
    )


SOURCES = "expected sentencepiece:N, morfessor, or a file of `word TAB morphs`"


@pytest.mark.parametrize("source", ["morfesor", "sentencepiece", "sentencepiece:x", ""])
def test_a_segmenter_that_does_not_exist_is_answered_with_those_that_do(source: str) -> None:
    with pytest.raises(ConfigError) as caught:
        segmenter_of(source)
    assert str(caught.value) == f"morphs: found {source!r}; {SOURCES}"


def test_fewer_pieces_than_characters_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        morphs_of("sentencepiece:3", {"abc": 2})
    assert str(caught.value) == (
        "morphs: found sentencepiece:3; expected 4 or more, since the words hold 3 characters"
    )


def test_words_that_sentencepiece_cannot_take_are_one_line() -> None:
    with pytest.raises(DataError) as caught:
        morphs_of("sentencepiece:9", {"\u2585": 2})
    message = str(caught.value)
    start = "morphs: sentencepiece cannot train on these words (internal: "
    assert message.lower().startswith(start)  # before sentencepiece 0.2.2: Internal
    assert message.endswith("); expected words of letters; take morfessor or a file")
    assert "\n" not in message


def test_a_vocabulary_without_words_has_no_morphs() -> None:
    with pytest.raises(DataError) as caught:
        morphs_of("sentencepiece:9", {})
    assert str(caught.value) == "morphs: no word but <unk>; expected some to segment"


def test_a_missing_morfessor_is_answered_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "morfessor", None)
    with pytest.raises(ConfigError) as caught:
        segmenter_of("morfessor")
    assert str(caught.value) == (
        "morphs: found morfessor, which is not installed; expected its Python package; "
        "pip install 'charlm[morphs]'"
    )


class HalvingModel:
    """Stands in for Morfessor's: cuts after half of a word, and is as loud."""

    def load_data(self, data: list[tuple[int, str]]) -> None:
        assert {count for count, _ in data} == {1}

    def train_batch(self) -> None:
        random.shuffle([1, 2, 3])
        sys.stderr.write("....\n")

    def viterbi_segment(self, word: str) -> tuple[list[str], float]:
        half = len(word) // 2
        return [part for part in (word[:half], word[half:]) if part], 1.0


def test_morfessors_segmentations_and_the_shares_of_its_morphs_are_kept(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    package = ModuleType("morfessor")
    monkeypatch.setattr(package, "BaselineModel", HalvingModel, raising=False)
    monkeypatch.setitem(sys.modules, "morfessor", package)
    state = random.getstate()
    model = morphs_of("morfessor", {"undo": 5, "unit": 2, "b" * 66: 1}, max_word_length=99)
    assert random.getstate() == state
    assert capfd.readouterr() == ("", "")
    assert model.segmentations["undo"] == ("un", "do")
    assert model.morphs == ("un", "do", "it")
    assert model.costs == pytest.approx([-math.log(2 / 4), -math.log(1 / 4), -math.log(1 / 4)])
    assert model.segmentations["b" * 66] == ("b",) * 66  # too long for the segmenter


def test_morfessor_itself_finds_endings_and_gives_the_same_twice() -> None:
    pytest.importorskip("morfessor")
    model = morphs_of("morfessor", WORDS)
    assert model.segmentations["walking"] == ("walk", "ing")
    assert morphs_of("morfessor", WORDS) == model
