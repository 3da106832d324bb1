"""Raw lines and their tokens in several scripts; normalising twice changes nothing more."""

import itertools
import json
import random
import re
import sys
import unicodedata
from collections import Counter
from dataclasses import replace

import pytest

from charlm.errors import ConfigError, DataError
from charlm.text.corpus.normalisation import normalisation as rules
from charlm.text.corpus.normalisation.normalisation import TOKENISERS, UNICODE_FORMS, Normalisation

SIMPLE = Normalisation(tokenise="simple")


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("", ""),
        (" a  b\t\tc ", "a b c"),
        ("a\u00a0b\u3000c\u2028d\u0085e", "a\u00a0b\u3000c\u2028d\u0085e"),
        ("Don't stop, (really).", "Don't stop, (really)."),
        ("cafe\u0301", "caf\u00e9"),
        ("\ufeffa b", "a b"),
        ("a b\r", "a b"),
        ("a b \r \t", "a b"),
        ("a\rb", "a\rb"),
        ("\ufeff", ""),
    ],
)
def test_by_default_only_blanks_and_compositions_change(line: str, tokens: str) -> None:
    assert Normalisation()(line) == tokens


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("Don't stop, (really).", "Don't stop , ( really ) ."),
        ("it 's he 'll 's' 'no 'x", "it 's he 'll ' s ' 'no 'x"),
        ("rock'n'roll 'tis dogs'", "rock'n'roll ' tis dogs '"),
        ("well-known, mid- and x--y", "well-known , mid - and x -- y"),
        ("3.14 1,000 1,234.5 10:30 1/2 1990-91", "3.14 1,000 1,234.5 10:30 1/2 1990-91"),
        ("-5 +5 (-5) a=-5 5-5", "-5 +5 ( -5 ) a = -5 5-5"),
        ("3rd, 1980s; $3.50 5%", "3rd , 1980s ; $ 3.50 5 %"),
        ("end.Start 1. 2.", "end . Start 1 . 2 ."),
        ("the U.S., e.g. x.y.z", "the U.S. , e.g. x . y . z"),
        ("Wait... what?! ``no''", "Wait ... what ? ! `` no ''"),
        ("a\u00a0b\u3000c\u2028d\u0085e\u200bf", "a b c d e f"),
        ("bog\u2018da \u2018tog\u2018", "bog\u2018da \u2018 tog \u2018"),
        ("sa\u2060na \u200fنعم\u061c! \u200e", "sana نعم !"),
        ("end.\ufeffStart ᠬᠠᠷ\u180eᠠ", "end . Start ᠬᠠᠷ\u180eᠠ"),
        ("snake_case.method()", "snake_case . method ( )"),
        ("l\u2019homme d'\u00c9tat", "l\u2019homme d'\u00c9tat"),
        ("\u00abOui\u00bb\u2014non\u2026", "\u00ab Oui \u00bb \u2014 non \u2026"),
        ("col\u00b7legi", "col\u00b7legi"),
        ("q\u0323\u0301x\u0301!", "q\u0323\u0301x\u0301 !"),
        ("Москва\u0301, \u2116\u00a05.", "Москва\u0301 , \u2116 5 ."),
        ("हिन्दी में, क्या।", "हिन्दी में , क्या ।"),
        ("\u0661\u066b\u0665 المغرب،", "\u0661\u066b\u0665 المغرب ،"),
        ("می\u200cخواهم\u061f", "می\u200cخواهم \u061f"),
        ("שו\u05f4ת", "שו\u05f4ת"),
        ("לבית\u05beספר, Հայ\u058aռուս", "לבית\u05beספר , Հայ\u058aռուս"),
        ('צה"ל ב"הארץ"', 'צה"ל ב " הארץ "'),  # a mark within an acronym, a quote before a name
        ("ինչո՞ւ ո՛չ, լա՜վ։", "ինչո՞ւ ո՛չ , լա՜վ ։"),
        ("ma˥˩ ɑ˞ [˧]", "ma˥˩ ɑ˞ [ ˧ ]"),
        ("中文，句子。", "中文 ， 句子 。"),
        ("👩🏽\u200d💻❤\ufe0f!!", "👩🏽\u200d💻 ❤\ufe0f !!"),
        ("🇩🇪🇫🇷!", "🇩🇪 🇫🇷 !"),
        ("🏴\U000e0067\U000e0062\U000e007f!", "🏴\U000e0067\U000e0062\U000e007f !"),
        ("x²", "x²"),
        ("a\u2060b <un\u2060k>", "ab < un k >"),  # no mark comes to light
    ],
)
def test_simple_splits_punctuation_off_and_leaves_words_whole(line: str, tokens: str) -> None:
    assert SIMPLE(line) == tokens


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("3.14 1,000 -5 +5 .5 -.5", "N N N N N N"),
        ("10:30 1/2 1990-91 2024-01-31 192.168.0.1", "N N N N N"),
        ("\u0661\u066b\u0665 \u0967\u0968 \u22125", "N N N"),
        ("3rd 1980s 5% x2 1e5 ½ - . , N", "3rd 1980s 5% x2 1e5 ½ - . , N"),
        ("5, (5)", "5, (5)"),
    ],
)
def test_numbers_become_n_where_the_whole_token_is_one(line: str, tokens: str) -> None:
    assert Normalisation(numbers=True)(line) == tokens


def test_numbers_are_found_after_tokenising() -> None:
    normalise = Normalisation(tokenise="simple", numbers=True)
    assert normalise("5, (5) $3.50 5%") == "N , ( N ) $ N N %"


def test_lower_case_spares_n_only_where_it_stands_for_numbers() -> None:
    assert Normalisation(lower=True)("N Nine 9") == "n nine 9"
    assert Normalisation(lower=True, numbers=True)("N Nine 9") == "N nine N"


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("ΟΔΟΣ Σ", "οδος σ"),  # a final sigma is a different character
        ("\u0130", "i\u0307"),
        ("J\u030c", "\u01f0"),  # has a composed form in lower case only
        ("STRASSE Straße", "strasse straße"),
        ("\u212a", "k"),
    ],
)
def test_lower_case_is_unicode_s_and_composed_again(line: str, tokens: str) -> None:
    assert Normalisation(lower=True)(line) == tokens


@pytest.mark.parametrize("form", UNICODE_FORMS)
def test_turkish_has_an_i_without_a_dot_and_one_with(form: str) -> None:
    turkish = Normalisation(lower=True, unicode=form, dotless_i=True)
    assert turkish("IĞDIR'a I\u0307Lİ <unk>:ISI") == turkish.compose("ığdır'a ili <unk>:ısı")
    assert turkish("i\u0307zmir I\u0307\u0307 \u0130\u0307") == "izmir i i"  # lower-cased elsewhere
    assert turkish("I" * 201) == "ı" * 201
    mapped = replace(turkish, map=(("IŞIK", "ışıklar"),))
    assert mapped("IŞIK") == turkish.compose("ışıklar")
    assert Normalisation.from_dict(turkish.to_dict(), "c") == turkish


def test_an_i_without_a_dot_wants_lower_case() -> None:
    with pytest.raises(ConfigError, match="^dotless_i: found no lower case; expected lower; add -"):
        Normalisation(dotless_i=True)


@pytest.mark.parametrize(
    ("form", "tokens"),
    [
        ("NFC", "\u00e9 \ufb01\u00a0\u211d"),
        ("NFD", "e\u0301 \ufb01\u00a0\u211d"),
        ("NFKC", "\u00e9 fi R"),
        ("NFKD", "e\u0301 fi R"),
        ("none", "e\u0301 \ufb01\u00a0\u211d"),
    ],
)
def test_unicode_forms_are_those_of_the_standard(form: str, tokens: str) -> None:
    assert Normalisation(unicode=form)("e\u0301 \ufb01\u00a0\u211d") == tokens


ALL = [
    Normalisation(lower, unicode, tokenise, numbers)
    for lower, unicode, tokenise, numbers in itertools.product(
        (False, True), UNICODE_FORMS, TOKENISERS, (False, True)
    )
]
ALL += [Normalisation(lower=True, unicode=form, dotless_i=True) for form in UNICODE_FORMS]
ALL += [
    Normalisation(
        lower, "NFKC", tokenise, numbers, punctuation, split_hyphens=True, map=(("*n't", "* n't"),)
    )
    for lower, tokenise, numbers, punctuation in itertools.product(
        (False, True), TOKENISERS, (False, True), ("keep", "drop")
    )
]


@pytest.mark.parametrize("normalise", ALL, ids=str)
def test_markers_between_blanks_survive_every_step(normalise: Normalisation) -> None:
    line = "<s> a <unk> b-1.x <unk>:it's-3.5,(x) <unk>:12 <unk>: </s>"
    kept = ["<s>", "<unk>", "<unk>:it's-3.5,(x)", "<unk>:12", "<unk>:", "</s>"]
    assert [token for token in normalise(line).split(" ") if "<" in token] == kept


def test_what_nobody_says_goes_and_what_is_left_is_as_it_is_said() -> None:
    line = "\"Well,\" the U.S. dogs' -- it 's _twenty-one_ at $5.50! \u0915\u093f\u0964"
    spoken = Normalisation(lower=True, punctuation="drop", split_hyphens=True)
    said = "well the u s dogs it 's twenty one at 5.50 \u0915\u093f"
    assert spoken(line) == said
    assert spoken("בית\u05beספר Հայ\u058aռուս") == "בית ספר հայ ռուս"
    assert spoken('(ma\u02e5\u02e9), "צה"ל".') == 'ma\u02e5\u02e9 צה"ל'


def test_unk_is_joined_to_nothing_so_that_no_rule_sees_its_brackets_when_applied_again() -> None:
    spoken = Normalisation(punctuation="drop", map=(("* 's", "*'s"),))
    assert spoken(spoken("the <unk> 's dog 's")) == "the <unk> 's dog's"


def test_rules_of_phrases_come_in_the_case_of_the_words_and_before_numbers() -> None:
    rules = (("Mr", "Mister"), ("a hundred", "100"), ("*N't", "* n't"))
    normalise = Normalisation(lower=True, numbers=True, map=rules)
    assert normalise("Mr. MR a Hundred didn't") == "mr. mister N did n't"
    assert normalise.reads_phrases
    assert not Normalisation(map=rules[:1]).reads_phrases


def test_words_that_a_rule_took_away_are_counted_by_rule() -> None:
    changed: Counter[str] = Counter()
    normalise = Normalisation(punctuation="drop", split_hyphens=True, map=(("a b", "c"),))
    normalise("x, a-b! d", changed=changed)
    assert changed == {"hyphens": 1, "punctuation": 2, "map": 2}


def test_rules_go_through_json_and_old_runs_have_none() -> None:
    rules = Normalisation(punctuation="drop", split_hyphens=True, map=(("a", "b"),))
    again = Normalisation.from_dict(json.loads(json.dumps(rules.to_dict())), "run.json")
    assert again == rules
    assert set(Normalisation().to_dict()) == set(GOOD)
    assert rules.in_short() == rules.to_dict() | {"map": "1 rules"}
    assert Normalisation().in_short() == Normalisation().to_dict()


def test_the_spelling_of_an_unknown_word_follows_case_and_unicode_form() -> None:
    assert Normalisation(lower=True)("<unk>:Cafe\u0301") == "<unk>:caf\u00e9"


def test_markers_within_a_word_are_punctuation() -> None:
    assert SIMPLE("(<unk>)") == "( < unk > )"


def nasty_lines() -> list[str]:
    pieces = [
        *"aAbN019.,-+'’!?<>:/_=$%()`~*# \t\r\ufeff\u00a0\u3000\u200b\u200d\u0301\u030c\u0345",
        *"ßİΣσςJ\u212a\u2126ﬁ…´½²٣٫−–क्षिé👩🏽💻\x85\u2028\u1e9e\u0390\u01c5\u24b6\u3392\u1100\u1161",
        *'"\u05e6\u05dc\u0578\u055e\u02e5\u02de\U0001f3f4\U000e0067\U000e007f\u2018\u200f\u2060\u180e\u061c',
        *("<unk>", "<s>", "</s>", "<unk>:", "N", " N ", "1,0", "U.S."),
    ]
    draw = random.Random(1)
    return ["".join(draw.choices(pieces, k=draw.randint(1, 12))) for _ in range(1500)]


@pytest.mark.parametrize("normalise", ALL, ids=str)
def test_normalising_twice_is_normalising_once_and_no_token_is_empty_or_holds_a_blank(
    normalise: Normalisation,
) -> None:
    once = [normalise(line) for line in nasty_lines()]
    assert [normalise(line) for line in once] == once
    assert all(re.fullmatch(r"([^ \t\n]+( [^ \t\n]+)*)?", line) for line in once)


@pytest.mark.parametrize("normalise", ALL, ids=str)
def test_a_normalisation_survives_json(normalise: Normalisation) -> None:
    assert Normalisation.from_dict(normalise.to_dict(), "run.json") == normalise


GOOD = Normalisation().to_dict()


def test_a_long_word_is_cut_as_a_short_one() -> None:
    others = ["U.S.", *"ab1.-',\u0301\u200d\u00e9\u5b57\u2026\x1c\x1f\"\u05e6\u05dc\u02e5"]
    draw = random.Random(0)
    for _ in range(3000):
        word = "".join(draw.choices(others, k=draw.randint(1, 20)))
        assert rules.tokens_of_long(word) == rules._unicode_pattern().findall(word), word
        if word.isascii():
            assert rules._ascii_pattern().findall(word) == rules._unicode_pattern().findall(word)


def test_time_and_memory_are_bounded_where_a_word_is_junk() -> None:
    dotted = "a." * 20_000  # scanning to the word's end for each letter would take minutes
    assert SIMPLE(f"{dotted}bc {dotted}") == f"{'a . ' * 20_000}bc {dotted}"
    spoken = Normalisation(
        lower=True, tokenise="simple", punctuation="drop", split_hyphens=True, map=(("*x", "*"),)
    )
    spoken("")  # lowers its map
    rules._cutting.cache_clear()
    rules._remembered.cache_clear()
    spoken("A" * 300 + ".b B b")  # words beside junk are remembered, like those of other lines
    cutting = rules._cutting("NFC", lower=True, dotless_i=False, numbers=False, simple=True)
    assert cutting == {"B": ("b",), "b": ("b",)}
    assert rules._remembered(rules._parts) == {".": (".",), "b": ("b",)}
    assert rules._remembered(rules._without_punctuation) == {".": (), "b": ("b",)}
    assert spoken._phrases._remembered == {"b": None}


def test_words_are_remembered_up_to_a_number_and_no_answer_depends_on_it() -> None:
    read = rules._WordRule(rules.simple_tokens)
    words = [f"{number}." for number in range(rules.CACHED_WORDS + 2)]
    tokens = [token for word in words for token in (word[:-1], ".")]
    assert read.each(words) == tokens
    assert list(read) == words[-2:]
    assert read.each(words[:4]) == tokens[:8]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "found NoneType; expected the keys lower, unicode, tokenise, numbers"),
        ([], "found list; expected the keys lower, unicode, tokenise, numbers"),
        ({}, "found []; expected the keys lower, unicode, tokenise, numbers"),
        (GOOD | {"upper": True}, "found ['lower', 'numbers', 'tokenise', 'unicode', 'upper']; "),
        (GOOD | {"lower": 1}, "lower is 1; expected a bool"),
        (GOOD | {"unicode": ["NFC"]}, "unicode is ['NFC']; expected a str"),
        (GOOD | {"unicode": "NFX"}, "unicode: found 'NFX'; expected one of NFC, NFD, NFKC, NFKD,"),
        (GOOD | {"tokenise": "x"}, "tokenise: found 'x'; expected one of none, simple"),
        (GOOD | {"punctuation": "x"}, "punctuation: found 'x'; expected one of keep, drop"),
        (GOOD | {"map": [["", "b"]]}, "map has ['', 'b']; expected a rule that --map takes"),
        (GOOD | {"map": [["a"]]}, "map has ['a']; expected a rule that --map takes"),
        (GOOD | {"map": [["*a" * 25 + "*b", "x"]]}, "map has ['*a*a"),  # takes for ever to match
        (GOOD | {"map": [["\uff0aa" * 25, "x"]], "unicode": "NFKC"}, "map has ['*a*a"),
        (
            GOOD | {"map": [["\u2003", "x"]], "unicode": "NFKC"},
            "map has ['', 'x']; expected a rule",
        ),
        (GOOD | {"map": [["a", "b\nc"]]}, r"map has ['a', 'b\nc']; expected a rule that"),
        (GOOD | {"map": [["\ud800", "b"]]}, r"map has ['\ud800', 'b']; expected a rule that"),
        (GOOD | {"lower": "x" * 1000}, f"lower is '{'x' * 56}...; expected a bool"),
        (GOOD | {"unicode": "x" * 1000}, f"unicode: found '{'x' * 56}...; expected one of NFC"),
        (
            GOOD | {"x" * 1000: 1},
            f"found ['lower', 'numbers', 'tokenise', 'unicode', '{'x' * 12}...",
        ),
    ],
)
def test_the_normalisation_of_a_stranger_is_refused_by_name(value: object, message: str) -> None:
    with pytest.raises(DataError) as caught:
        Normalisation.from_dict(value, "run.json")
    assert str(caught.value).startswith(f"run.json: {message}")


def test_an_unknown_unicode_form_is_an_error_of_the_options() -> None:
    with pytest.raises(ConfigError, match=r"^unicode: found 'nfc'; expected one of NFC, NFD"):
        Normalisation(unicode="nfc")


@pytest.mark.parametrize(
    ("word", "is_it"),
    [
        ("cat", True),
        ("\u0915\u093f\u0924\u093e\u092c", True),  # Hindi, with vowel signs
        ("\u0645\u06cc\u200c\u0631\u0648\u0645", True),  # Persian, with a non-joiner inside
        ("e\u0301te\u0301", True),  # NFD
        ("a1", False),
        ("a.b", False),
        ("don't", False),
    ],
)
def test_words_of_letters_alone_are_so_in_every_script(word: str, is_it: bool) -> None:
    assert rules.is_of_letters(word) == is_it


def test_where_two_maps_have_a_rule_for_a_word_the_further_one_is_taken() -> None:
    own = Normalisation(map=(("ok", "okay"), ("mr", "mister")), lower=True)
    both = own.and_also(Normalisation(map=(("ok", "all right"),), split_hyphens=True))
    assert both("OK Mr Ok-ok") == "all right mister all right all right"


def test_what_either_of_two_normalisations_drops_or_splits_goes() -> None:
    dropping = Normalisation(punctuation="drop", split_hyphens=True)
    assert dropping.and_also(Normalisation()) == Normalisation().and_also(dropping) == dropping


def test_no_combining_mark_stands_beyond_the_planes_of_writing_and_of_tags() -> None:
    looked_at = {*range(*rules.WRITING), *range(*rules.TAGS)}
    others = set(range(sys.maxunicode + 1)) - looked_at
    assert {unicodedata.category(chr(code)) for code in others} <= {"Cn", "Co"}
