"""HTK's lattices."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_files import read_lattices
from charlm.nbest.reading.format import Source
from charlm.text.io.lines import LineRules

Read = Callable[..., list[Lattice]]
HEAD = "VERSION=1.0\nUTTERANCE=u\n"
NODES = "I=0\nI=1 W=a\nI=2\n"
LINKS = "J=0 S=0 E=1 a=-1 l=-2\nJ=1 S=1 E=2\n"
SMALL = HEAD + "N=3 L=2\n" + NODES + LINKS


def test_words_of_nodes_stand_on_the_arcs_that_lead_there(
    read: Read, texts: dict[str, str]
) -> None:
    lattice = read(texts["slf"])[0]
    assert [arc.word for arc in lattice.arcs] == ["we", "they", "know", "know", "!NULL"]
    assert lattice.arcs[0].values == (-223.04, -2.811)
    assert (lattice.start, set(lattice.finals)) == (0, {4})


def test_words_may_stand_on_links(read: Read) -> None:
    text = SMALL.replace("I=1 W=a", "I=1").replace("J=0 S=0 E=1", "J=0 WORD=b START=0 END=1")
    assert read(text)[0].arcs[0].word == "b"


def test_a_dash_is_no_word(read: Read) -> None:
    text = SMALL.replace("W=a", "W=-").replace("I=0\n", "I=0 W=-\n")
    assert [arc.word for arc in read(text)[0].arcs] == ["!NULL", "!NULL"]


def test_an_acoustic_score_may_stand_on_the_node_of_its_word(read: Read) -> None:
    text = SMALL.replace("W=a", "W=a a=-5").replace("a=-1 ", "")
    assert read(text)[0].arcs[0].values == (-5.0, -2.0)


def test_a_score_of_pronunciation_may_stand_there_too_and_the_links_own_goes_first(
    read: Read,
) -> None:
    text = SMALL.replace("W=a", "W=a a=-5 r=-4")
    assert read(text)[0].arcs[0].values == (-1.0, -2.0, -4.0)
    assert read(text.replace("a=-1", "r=-3"))[0].arcs[0].values == (-5.0, -2.0, -3.0)


@pytest.mark.parametrize(
    ("encoding", "word"),
    [
        ("latin-1", r"\344bc"),
        ("latin-1", "äb\\c"),
        ("shift_jis", "表b"),
        ("shift_jis", r"\225\134b"),
    ],
)
def test_octal_bytes_and_backslashes_are_of_the_files_encoding(
    tmp_path: Path, encoding: str, word: str
) -> None:
    path = tmp_path / "a.lat"
    path.write_bytes(SMALL.replace("W=a", f"W={word}").encode(encoding))
    (lattice,) = read_lattices(Source(path, rules=LineRules(encoding=encoding)))
    assert lattice.arcs[0].word == {"latin-1": "äbc", "shift_jis": "表b"}[encoding]


def test_the_scale_of_n_alone_is_its_own_where_it_is_said(read: Read) -> None:
    text = SMALL.replace("l=-2", "n=-2").replace("N=3", "lmscale=7 ngscale=8\nN=3")
    assert read(text)[0].scales == {"old_lm": 8.0}


def test_the_headers_scales_are_weights(read: Read, texts: dict[str, str]) -> None:
    assert read(texts["slf"])[0].scales == {"am": 2.0, "old_lm": 14.0, "words": -0.5}


@pytest.mark.parametrize(
    ("base", "value", "nats"),
    [
        ("2.71828", "-2", -2 * math.log(2.71828)),
        ("10", "-2", -2 * math.log(10)),
        ("0", ".5", math.log(0.5)),
    ],
)
def test_scores_come_in_nats_whatever_the_base(
    read: Read, base: str, value: str, nats: float
) -> None:
    text = SMALL.replace("N=3", f"base={base}\nN=3").replace("l=-2", f"l={value}")
    text = text.replace("a=-1", f"a={value}")
    assert read(text)[0].arcs[0].values == pytest.approx((nats, nats))


def test_the_word_penalty_is_in_the_files_unit(read: Read) -> None:
    text = SMALL.replace("N=3", "base=10 wdpenalty=-2\nN=3")
    assert read(text)[0].scales["words"] == pytest.approx(-2 * math.log(10))


def test_n_alone_is_the_old_model_and_beside_l_a_feature_of_its_own(read: Read) -> None:
    alone = read(SMALL.replace("l=-2", "n=-2"))[0]
    beside = read(SMALL.replace("l=-2", "l=-2 n=-3 r=-4"))[0]
    assert (alone.names, alone.arcs[0].values) == (("am", "old_lm"), (-1.0, -2.0))
    assert beside.names == ("am", "old_lm", "ngram", "pron")
    assert beside.arcs[0].values == (-1.0, -2.0, -3.0, -4.0)


def test_durations_on_nodes_where_words_begin_are_refused(read: Read) -> None:
    text = SMALL.replace("VERSION=1.0", "VERSION=1.0 dir=b duscale=1").replace("I=0", "I=0 ds=-7")
    text = text.replace(" W=a", "").replace(" E=1", " E=1 W=a")
    with pytest.raises(DataError, match="dir='b': words or scores on the nodes where they begin"):
        read(text)


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ('"a"', "a"),
        (r"\'cause", "'cause"),
        ("'cause", "'cause"),
        (r'"a\"b"', 'a"b'),
        (r"caf\303\251", "café"),
        (r"caf\0303\0251", "café"),  # SRILM's, where C's char is unsigned
        (r"caf\037777777703\037777777651", "café"),  # and where it is signed
        (r"\0303\0251\123", "é123"),
        ("café", "café"),
        (r"a\\b", r"a\b"),
    ],
)
def test_a_word_is_unquoted(read: Read, written: str, word: str) -> None:
    text = SMALL.replace("W=a", f"W={written} v=1")
    assert read(text)[0].arcs[0].word == word


def test_words_on_links_have_no_direction(read: Read) -> None:
    text = SMALL.replace("I=1 W=a", "I=1").replace("E=1", "E=1 W=a").replace("N=3", "dir=b N=3")
    assert [arc.word for arc in read(text)[0].arcs] == ["a", "!NULL"]


@pytest.mark.parametrize(
    ("utterance", "name"),
    [("UTTERANCE=u\n", "u"), ("", "a.b"), ("UTTERANCE=/data/a.plp\n", "a.b")],
)
def test_an_id_is_the_utterance_or_the_files_name(read: Read, utterance: str, name: str) -> None:
    text = SMALL.replace("UTTERANCE=u\n", utterance)
    assert read(text, name="a.b.lat")[0].id == name


def test_lattices_one_behind_the_other_are_several(read: Read) -> None:
    found = read(SMALL + SMALL.replace("=u", "=v") + "# the end\n")
    assert [lattice.id for lattice in found] == ["u", "v"]
    read_lines = "".join(line.raw for lattice in found for line in lattice.original.lines)
    assert read_lines.startswith(SMALL)


SUB = "a sub-lattice; expected none; expand it with HTK first"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("UTTERANCE=u", "SUBLAT=u", ":2: " + SUB),
        ("W=a", "L=sub", ":5: " + SUB),
        ("I=2\n", "I=2\n.\n", ":7: " + SUB),
        ("N=3", "N=4", ":3: N=4, found 3 nodes; expected as many; the file is cut"),
        ("L=2", "L=1", ":3: L=1, found 2 links; expected as many"),
        ("N=3", "N=x", ":3: N='x'; expected a number"),
        ("a=-1", "a=nan", ":7: a='nan'; expected a number"),
        ("l=-2", "l=-inf", ":7: l='-inf'; expected a number; lattice-tool writes one with -htk-lo"),
        ("a=-1", "a=-1e99", ":7: a='-1e99'; expected a number"),
        ("a=-1", "a=-1 a=2", ":7: field a for the second time"),
        ("a=-1", "a -1", ":7: 'a -1 l=-2'; expected fields such as W=word"),
        ("S=0", "S=7", ":7: S='7'; expected the number of a node"),
        ("S=0 ", "", ":7: S=''; expected the number of a node"),
        ("I=2", "I=1", ":6: node '1' for the second time"),
        ("UTTERANCE=u", "UTTERANCE=u\nU=v", ":3: field U for the second time"),
        ("UTTERANCE=u", "base=1", ":1: base=1; expected a base of logarithms, or 0"),
        ("UTTERANCE=u", "base=0", ":7: probability -1 where base=0; expected more than 0"),
        ("E=1", "E=1 W=b", ":7: a word on the link and on its end node"),
        ("I=0", "I=0 W=b", ":4: the start node has the word 'b'; expected !NULL there"),
        ("N=3", "end=1 N=3", ":3: node 1 is not one that nothing leaves; expected one end node"),
        ("N=3", "start=9 N=3", ":3: start='9'; expected a node"),
        ("N=3", "dir=b N=3", ":3: dir='b': words or scores on the nodes where they begin; expecte"),
        ("J=1 S=1 E=2", "J=1 S=0 E=2", ":1: 2 nodes are one that nothing leaves; expected one end"),
        ("J=1 S=1 E=2", "J=1 S=2 E=1", ":1: 2 nodes are one that nothing enters; expected one sta"),
        ("W=a", r"W=\303x", r":5: W: '.*' is no UTF-8; expected UTF-8 in octal numbers; say"),
        ("W=a", r"W=a\040b", r":5: W: .* holds blanks or control characters; expected a word"),
        ("W=a", 'W="a b"', r":5: W: 'a b' holds blanks or control characters; expected a word"),
        (NODES + LINKS, "", ":3: N=3, found 0 nodes"),
        ("N=3 L=2\n" + NODES + LINKS, "", ":1: no nodes or no links; expected both"),
        ("N=3 L=2\n" + NODES + LINKS, "N=1 L=0\nI=0\n", ":1: no nodes or no links; expected"),
        ("J=0", "J=0 S=0", ":7: field S for the second time"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(
    read: Read, old: str, new: str, message: str
) -> None:
    assert old in SMALL
    with pytest.raises(DataError, match=message) as error:
        read(SMALL.replace(old, new, 1))
    assert "\n" not in str(error.value)


def test_a_lattice_begins_behind_what_says_nothing(read: Read) -> None:
    with pytest.raises(DataError, match=":4: no nodes or no links; expected both"):
        read("\n \t\n # by hand\nVERSION=1.0\n", form="slf")


def test_a_file_of_comments_holds_no_lattice(read: Read) -> None:
    with pytest.raises(DataError, match="lattices: no lattice; expected a header such as VERSION"):
        read("# nothing\n", form="slf")
