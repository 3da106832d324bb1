"""Mixtures of two encoders: the contract of all of them, and the equations of the plain ones."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import ENCODER
from charlm.model.contract import Encoder
from charlm.model.forms import Forms
from charlm.settings import build_part
from charlm.text.vocabulary.vocabulary import Inventory

Build = Callable[..., Encoder]
Spell = Callable[[Sequence[str]], Forms]

WORD = {"type": "word", "dim": 4}
CNN = {"type": "char-cnn", "dim": 3, "widths": [1, 2], "filters": [2, 2]}
FORMS = ["a", "cab", "<unk>", "zz", "</s>"]
EQUAL = ["add", "average", "convex", "gate"]  # mixtures of sides of equal width
MIXTURES = [*EQUAL, "concat", "tensor"]


def mixture(name: str, **sides: Any) -> dict[str, Any]:
    return {"type": name, "word": WORD, "char": CNN, **sides}


@pytest.fixture(params=MIXTURES)
def mixed(request: pytest.FixtureRequest, build: Build, inventory: Inventory) -> Encoder:
    return build(ENCODER, mixture(request.param), leading=[inventory])


def share(state: dict[str, torch.Tensor]) -> float:
    """λ of `convex`."""
    return 1 / (1 + float(torch.exp(-state["weight"].double())))


# From one number of each side and the mixture's weights to the result.
EQUATIONS: dict[str, Callable[[float, float, dict[str, torch.Tensor]], float]] = {
    "add": lambda word, char, state: word + char,
    "average": lambda word, char, state: (word + char) / 2,
    "convex": lambda word, char, state: (1 - share(state)) * word + share(state) * char,
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_a_mixture_equals_its_equation_over_single_numbers(
    build: Build, inventory: Inventory, spell: Spell, name: str
) -> None:
    encoder = build(ENCODER, mixture(name), leading=[inventory])
    taps = encoder.taps(spell(FORMS))
    expected = [
        [EQUATIONS[name](w, c, encoder.state_dict()) for w, c in zip(word, char, strict=True)]
        for word, char in zip(taps["word"].tolist(), taps["char-cnn"].tolist(), strict=True)
    ]
    torch.testing.assert_close(encoder(spell(FORMS)), torch.tensor(expected))


def test_a_concatenation_holds_the_word_sides_numbers_and_then_the_char_sides(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    sides = mixture("concat", word={"type": "word", "dim": 3})
    encoder = build(ENCODER, sides, leading=[inventory])
    taps = encoder.taps(spell(FORMS))
    rows = [[*w, *c] for w, c in zip(taps["word"].tolist(), taps["char-cnn"].tolist(), strict=True)]
    assert encoder.dim == 7
    torch.testing.assert_close(encoder(spell(FORMS)), torch.tensor(rows))


def test_the_highway_of_kim_stands_over_the_whole_concatenation(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    settings = {"type": "highway", "layers": 2, "encoder": mixture("concat")}
    encoder = build(ENCODER, settings, leading=[inventory])
    taps = encoder.taps(spell(FORMS))
    assert list(taps) == [
        *("word", "char-cnn", "concat"),
        *("transform.1", "highway.1", "transform", "highway"),
    ]
    state = encoder.state_dict()
    y = taps["concat"]
    for layer in ("layers.0", "layers.1"):
        gate = y @ state[f"{layer}.gate.weight"].T + state[f"{layer}.gate.bias"] - 2
        new = y @ state[f"{layer}.transform.weight"].T + state[f"{layer}.transform.bias"]
        t = torch.sigmoid(gate)
        y = t * new.clamp(min=0) + (1 - t) * y
    torch.testing.assert_close(encoder(spell(FORMS)), y)
    assert y.shape == (len(FORMS), 8)


@pytest.mark.parametrize(
    ("sides", "taps"),
    [
        ({}, ["word", "char-cnn", "add"]),
        ({"word": CNN}, ["word.char-cnn", "char.char-cnn", "add"]),
        (
            {"word": mixture("add")},
            ["word.word", "word.char-cnn", "word.add", "char.char-cnn", "add"],
        ),
        (
            {"char": {"type": "highway", "encoder": CNN}},
            ["word", "char-cnn", "transform", "highway", "add"],
        ),
        (
            {
                "word": {"type": "add", "word": WORD, "char": {**CNN, "type": "char-cnn"}},
                "char": WORD,
            },
            ["word.word", "word.char-cnn", "word.add", "char.word", "add"],
        ),
    ],
    ids=str,
)
def test_a_mixture_keeps_every_tap_of_both_sides(
    build: Build, inventory: Inventory, spell: Spell, sides: dict[str, Any], taps: list[str]
) -> None:
    encoder = build(ENCODER, mixture("add", **sides), leading=[inventory])
    found = encoder.taps(spell(FORMS))
    assert list(found) == taps
    torch.testing.assert_close(found["add"], encoder(spell(FORMS)))


@pytest.mark.parametrize("name", ["average", "convex", "gate", "add"])
@pytest.mark.parametrize(("side", "tap"), [("word", "word"), ("char", "char-cnn")])
def test_one_side_alone_gives_that_sides_vectors_and_trains_nothing_else(
    build: Build, inventory: Inventory, spell: Spell, name: str, side: str, tap: str
) -> None:
    encoder = build(ENCODER, mixture(name), leading=[inventory])
    expected = encoder.taps(spell(FORMS))[tap].detach()
    encoder.use_side(side)
    vectors = encoder(spell(FORMS))
    torch.testing.assert_close(vectors, expected, rtol=0, atol=0)
    torch.testing.assert_close(list(encoder.taps(spell(FORMS)).values())[-1], expected)
    vectors.sum().backward()
    trained = {n for n, p in encoder.named_parameters() if p.grad is not None and p.grad.any()}
    assert trained == {n for n, _ in encoder.named_parameters() if n.startswith(f"sides.{side}.")}


def test_one_side_of_a_concatenation_keeps_its_place_beside_zeros(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    encoder = build(ENCODER, mixture("concat"), leading=[inventory])
    both = encoder(spell(FORMS))
    zeros = torch.zeros(len(FORMS), 4)
    encoder.use_side("word")
    torch.testing.assert_close(encoder(spell(FORMS)), torch.cat([both[:, :4], zeros], dim=1))
    encoder.use_side("char")
    torch.testing.assert_close(encoder(spell(FORMS)), torch.cat([zeros, both[:, 4:]], dim=1))


def test_both_sides_again_are_the_mixture_again(mixed: Encoder, spell: Spell) -> None:
    before = mixed(spell(FORMS))
    mixed.use_side("char")
    assert not torch.equal(mixed(spell(FORMS)), before)
    mixed.use_side("both")
    assert torch.equal(mixed(spell(FORMS)), before)


def test_a_step_through_a_mixture_puts_the_padding_vector_back(mixed: Encoder) -> None:
    table = mixed.state_dict()["sides.char.letters.weight"]
    table += 1.0
    mixed.after_step()
    assert not table[0].any()
    assert bool(table[1:].any(dim=1).all())


@pytest.mark.parametrize("name", [name for name in MIXTURES if name != "gate"])
def test_a_mixture_reads_spelling_if_one_side_does(
    build: Build, inventory: Inventory, name: str
) -> None:
    reads = [
        build(ENCODER, mixture(name, word=one, char=other), leading=[inventory]).reads_spelling
        for one, other in [(WORD, WORD), (WORD, CNN), (CNN, WORD), (CNN, CNN)]
    ]
    assert reads == [False, True, True, True]


def test_under_autocast_a_mixture_is_near_itself_in_full_precision(
    mixed: Encoder, spell: Spell
) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        vectors = mixed.train()(spell(FORMS))
    vectors.float().sum().backward()
    torch.testing.assert_close(vectors.float(), mixed(spell(FORMS)), rtol=0, atol=0.03)


@pytest.mark.parametrize("name", EQUAL)
def test_sides_of_unequal_width_are_refused_with_what_to_wrap(
    inventory: Inventory, name: str
) -> None:
    settings = mixture(name, word={"type": "word", "dim": 5})
    with pytest.raises(ConfigError) as caught:
        build_part(ENCODER, settings, leading=[inventory])
    assert str(caught.value) == (
        f"encoder '{name}': its word side is 5 wide and its char side 4; expected equal widths; "
        "wrap one side in the encoder 'project'"
    )


@pytest.mark.parametrize("name", EQUAL)
def test_project_makes_unequal_sides_fit(build: Build, inventory: Inventory, name: str) -> None:
    project = {"type": "project", "dim": 5, "encoder": CNN}
    settings = mixture(name, word={"type": "word", "dim": 5}, char=project)
    assert build(ENCODER, settings, leading=[inventory]).dim == 5


PRODUCT = {"type": "project", "dim": 4, "encoder": WORD}  # bf16 under autocast; a table is not


@pytest.mark.parametrize("word", [WORD, PRODUCT], ids=["fp32", "bf16"])
@pytest.mark.parametrize("name", [*MIXTURES, "highway"])
def test_under_autocast_the_vectors_are_near_those_in_full_precision(
    build: Build, inventory: Inventory, spell: Spell, name: str, word: dict[str, Any]
) -> None:
    sides = {"word": word, "char": PRODUCT} if name != "highway" else {"encoder": word}
    encoder = build(ENCODER, {"type": name, **sides}, leading=[inventory]).eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        vectors = encoder(spell(FORMS))
    torch.testing.assert_close(vectors.float(), encoder(spell(FORMS)), rtol=0.05, atol=0.05)


def test_taps_of_a_mixture_in_a_mixture_of_its_kind_name_their_sides(
    build: Build, inventory: Inventory, spell: Spell
) -> None:
    inner = mixture("add", char=PRODUCT)
    encoder = build(ENCODER, mixture("add", word=CNN, char=inner), leading=[inventory])
    of_inner = ["char.word.word", "char.char.word", "char.char.project", "char.add"]
    assert list(encoder.taps(spell(FORMS))) == ["word.char-cnn", *of_inner, "add"]
