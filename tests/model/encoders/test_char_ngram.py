"""Character n-grams against loops over strings, and the hash against published values."""

import ctypes
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from charlm.errors import ConfigError
from charlm.model.build import ENCODER
from charlm.model.encoders.char_ngram import CharNgrams
from charlm.model.forms import FixedForms, Forms, FormTable
from charlm.text.vocabulary.vocabulary import Inventory

Build = Callable[..., CharNgrams]
BUCKETS = 100_003
SETTINGS = {"type": "char-ngram", "dim": 2, "buckets": BUCKETS}
LETTERS = ("f", "o", "b", "a", "r", "ä", "日", "😀")


def slow_hash(ngram: bytes) -> int:
    """FNV-1a as fastText's C++ has it: bytes are signed where they are taken into the hash."""
    value = ctypes.c_uint32(2166136261)
    for byte in ngram:
        value.value ^= ctypes.c_uint32(ctypes.c_int8(byte).value).value
        value.value *= 16777619
    return value.value


def slow_ngrams(form: str, min_n: int, max_n: int) -> list[str]:
    """All n-grams of <form>, but for < and > alone."""
    word = f"<{form}>"
    found = [word[i : i + n] for n in range(min_n, max_n + 1) for i in range(len(word) - n + 1)]
    return [ngram for ngram in found if ngram not in ("<", ">")]


def slow_vector(table: Tensor, form: str, min_n: int, max_n: int) -> Tensor:
    total = torch.zeros(table.shape[1])
    for ngram in slow_ngrams(form, min_n, max_n):
        total += table[slow_hash(ngram.encode()) % len(table)]
    return total


@pytest.fixture
def letters() -> Inventory:
    return Inventory(("</s>", "<unk>", "foo"), (1, 1, 1), LETTERS)


def forms_of(inventory: Inventory, spellings: Sequence[str]) -> Forms:
    table = FormTable(inventory, spellings, ids=[inventory.n_words] * len(spellings))
    return table.forms(torch.arange(len(spellings)).numpy())


def rows_read(encoder: CharNgrams, forms: Forms) -> set[int]:
    """The table's rows that have a gradient."""
    encoder.zero_grad()
    encoder(forms).sum().backward()
    assert encoder.table.weight.grad is not None
    return set(encoder.table.weight.grad.any(dim=1).nonzero().flatten().tolist())


@pytest.mark.parametrize(("min_n", "max_n"), [(3, 6), (1, 1), (1, 3), (2, 2), (5, 12)])
def test_a_vector_is_the_sum_over_the_ngrams_of_the_string(
    build: Build, letters: Inventory, min_n: int, max_n: int
) -> None:
    settings = {**SETTINGS, "buckets": 211, "min_n": min_n, "max_n": max_n}
    encoder = build(ENCODER, settings, leading=[letters])
    forms = ["foobar", "f", "baää日😀o", "fo" * 30, "oooo"]
    table = encoder.table.weight.detach()
    expected = torch.stack([slow_vector(table, form, min_n, max_n) for form in forms])
    torch.testing.assert_close(encoder(forms_of(letters, forms)), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda", marks=[pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")]
        ),
    ],
)
def test_sums_of_one_size_are_those_of_the_ngrams_alone(
    build: Build, letters: Inventory, device: str
) -> None:
    """As on a GPU: what is no n-gram has a row of zeros there, and no gradient."""
    encoder = build(ENCODER, {**SETTINGS, "buckets": 211}, leading=[letters])
    forms = forms_of(letters, ["foobar", "f", "baää日😀o", "fo" * 30, ""])
    expected = encoder(forms)
    (expected * torch.arange(5.0)[:, None]).sum().backward()
    expected_gradient, encoder.table.weight.grad = encoder.table.weight.grad, None
    encoder = encoder.to(device)
    found = encoder._masked_sums(*encoder._rows(forms.to(torch.device(device)).letters_NL))
    (found * torch.arange(5.0, device=device)[:, None]).sum().backward()
    torch.testing.assert_close(found.cpu(), expected)
    gradient = encoder.table.weight.grad
    assert gradient is not None
    torch.testing.assert_close(gradient.cpu(), expected_gradient)


@pytest.mark.parametrize("words", [["foobar", "f", "", "fo" * 30], ["f", ""]])
def test_fixed_forms_have_the_vectors_and_gradients_of_others(
    build: Build, letters: Inventory, words: list[str]
) -> None:
    encoder = build(ENCODER, {**SETTINGS, "buckets": 211, "divisor": "root"}, leading=[letters])
    first = forms_of(letters, ["oooo", "foo", "bar"])
    encoder(FixedForms(*first))
    forms, weights = forms_of(letters, words), torch.arange(1.0, len(words) + 1)[:, None]
    fixed = FixedForms(*forms)
    found = []
    for each in (forms, fixed, fixed):
        encoder.zero_grad()
        vectors = encoder(each)
        (vectors * weights).sum().backward()
        found.append((vectors, encoder.table.weight.grad))
    for vectors, gradient in found[1:]:
        torch.testing.assert_close(vectors, found[0][0])
        torch.testing.assert_close(gradient, found[0][1])


@pytest.mark.parametrize(("divisor", "power"), [("root", 0.5), ("count", 1.0)])
def test_the_sum_is_divided_by_the_number_of_ngrams_or_its_root(
    build: Build, letters: Inventory, divisor: str, power: float
) -> None:
    encoder = build(ENCODER, {**SETTINGS, "divisor": divisor}, leading=[letters])
    counts = {"foobar": 18, "foofoo": 18, "fo": 3, "f": 1}  # foo stands twice in the second
    table = encoder.table.weight.detach()
    expected = torch.stack([slow_vector(table, f, 3, 6) / n**power for f, n in counts.items()])
    torch.testing.assert_close(encoder(forms_of(letters, list(counts))), expected)
    assert not encoder(forms_of(letters, [""])).any()  # <> is too short for any


# Of the published test values of FNV-1a, 32 bits; what < and > add is in no published value.
@pytest.mark.parametrize(
    ("text", "value"), [("a", 0xE40C292C), ("b", 0xE70C2DE5), ("foobar", 0xBF9CF968)]
)
def test_the_hash_is_fnv_1a(letters: Inventory, text: str, value: int) -> None:
    assert slow_hash(text.encode()) == value
    encoder = CharNgrams(letters, dim=1, min_n=len(text), max_n=len(text), buckets=BUCKETS)
    assert value % BUCKETS in rows_read(encoder, forms_of(letters, [text]))


def test_a_form_shorter_than_every_ngram_has_the_vector_0(build: Build, letters: Inventory) -> None:
    encoder = build(ENCODER, {**SETTINGS, "min_n": 5}, leading=[letters])
    vectors = encoder(forms_of(letters, ["fo", "foo", "f"]))
    assert vectors.any(dim=1).tolist() == [False, True, False]
    alone = forms_of(letters, ["f"])
    assert encoder(alone).tolist() == [[0.0, 0.0]]
    assert encoder._masked_sums(*encoder._rows(alone.letters_NL)).tolist() == [[0.0, 0.0]]


def test_a_row_means_the_same_ngram_whatever_the_ids_of_its_characters(build: Build) -> None:
    one = Inventory(("</s>", "<unk>"), (1, 1), LETTERS)
    other = Inventory(("</s>", "<unk>"), (1, 1), ("x", *LETTERS[::-1]))
    encoders = [build(ENCODER, SETTINGS, leading=[each]) for each in (one, other)]
    vectors = [
        encoder(forms_of(each, ["foobar", "日ä"]))
        for encoder, each in zip(encoders, (one, other), strict=True)
    ]
    torch.testing.assert_close(vectors[0], vectors[1])


def test_unk_end_and_unknown_letters_share_no_ngram(build: Build, letters: Inventory) -> None:
    encoder = build(ENCODER, {**SETTINGS, "min_n": 1}, leading=[letters])
    forms = ["<unk>", "</s>", "?", "f"]
    sets = [rows_read(encoder, forms_of(letters, [form])) for form in forms]
    assert [len(each) for each in sets] == [4] * 4  # x, <x, x> and <x>
    assert len(set.union(*sets)) == 16
    marks = [slow_hash(bytes([byte])) % BUCKETS for byte in (0xFB, 0xFC, 0xFD)]
    assert all(mark in rows for mark, rows in zip(marks, sets[:3], strict=True))


def test_a_gradient_reaches_an_ngrams_row_as_often_as_it_occurs(
    build: Build, letters: Inventory
) -> None:
    settings = {**SETTINGS, "buckets": 10_007, "min_n": 2, "max_n": 2}
    encoder = build(ENCODER, settings, leading=[letters])
    encoder(forms_of(letters, ["foofoo", "fo"])).sum().backward()
    assert encoder.table.weight.grad is not None
    counts = {"<f": 2.0, "fo": 3.0, "oo": 2.0, "of": 1.0, "o>": 2.0}
    expected = torch.zeros(10_007, 2)
    for ngram, count in counts.items():
        expected[slow_hash(ngram.encode()) % 10_007] += count
    torch.testing.assert_close(encoder.table.weight.grad, expected)


def test_the_table_is_all_that_is_saved_and_the_bytes_are_real_on_the_meta_device(
    build: Build, letters: Inventory
) -> None:
    real = build(ENCODER, SETTINGS, leading=[letters])
    with torch.device("meta"):
        encoder = CharNgrams(letters, dim=2, buckets=BUCKETS)
    assert list(encoder.state_dict()) == ["table.weight"]
    encoder.load_state_dict(real.state_dict(), assign=True)
    forms = forms_of(letters, ["foobar", "日"])
    assert torch.equal(encoder(forms), real(forms))


def test_a_least_order_above_the_greatest_is_refused(inventory: Inventory) -> None:
    with pytest.raises(ConfigError) as caught:
        CharNgrams(inventory, min_n=4, max_n=3)
    assert str(caught.value) == (
        "encoder 'char-ngram' has min_n 4 and max_n 3; expected min_n up to max_n"
    )
