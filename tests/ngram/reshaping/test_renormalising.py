"""Models cut to an order, unions and mixtures, renormalised back-offs, and entropy pruning.

Each is tested against a slow version that stores n-grams as tuples of words.
"""

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import estimate
from charlm.ngram.files.arpa_reading import read_arpa
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.ngram.reshaping.combination import cut_to, entropy_pruned, interpolated
from charlm.ngram.reshaping.ngram_set import Closure, log10_probs_of, union
from charlm.ngram.reshaping.pruning import worth_keeping
from charlm.ngram.reshaping.renormalising import MOST, renormalised
from charlm.ngram.word_ids import END, MARKS, START, encode
from charlm.ngram.word_ids import WordIds as Ids

WORDS = (*MARKS, "a", "b", "c", "d")
ONE = ["a b c", "a b d", "b a", "a b c a", "", "d d d"]
OTHER = ["c a b", "a b c", "b b", "d c b a", "c a d d"]

Gram = tuple[int, ...]
Table = dict[Gram, tuple[float, float]]  # probability and back-off


def model_of(sentences: list[str], *, order: int = 3) -> BackoffModel:
    ids = encode([each.split() for each in sentences], Ids(WORDS, closed=True))
    return estimate(ids, words=WORDS, order=order).model


def table_of(model: BackoffModel) -> Table:
    """Every n-gram of a model with its probability and its back-off."""
    table: Table = {}
    for n, grams in enumerate(model.orders, 1):
        columns = model.ngram_words(n, slice(None))
        for row, gram in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            backoff = 10 ** grams.log10_backoffs[row] if n < model.order else 1.0
            table[gram] = (10 ** grams.log10_probs[row], float(backoff))
    return table


def prob(table: Table, gram: Gram) -> float:
    """P(last | those before), backing off as the definition has it."""
    if gram in table:
        return table[gram][0]
    _, backoff = table.get(gram[:-1], (0.0, 1.0))
    return backoff * prob(table, gram[1:])


def contexts(n_words: int, *, longest: int) -> Iterator[Gram]:
    """All contexts, `<s>` at their begin alone and `</s>` nowhere."""
    inner = [number for number in range(n_words) if number not in (START, END)]
    for length in range(longest + 1):
        for rest in product(inner, repeat=length):
            yield rest
            if length:
                yield (START, *rest[1:])


def sums(model: BackoffModel) -> list[float]:
    """Σ_w P(w | h) for every context that there can be."""
    table, n_words = table_of(model), len(model.words)
    predicted = [number for number in range(n_words) if number != START]
    return [
        sum(prob(table, (*context, word)) for word in predicted)
        for context in contexts(n_words, longest=model.order - 1)
    ]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_cut_model_backs_off_from_its_shorter_n_grams(order: int) -> None:
    whole = model_of(ONE)
    cut = cut_to(order, whole)
    table = {
        gram: (found, backoff if len(gram) < order else 1.0)
        for gram, (found, backoff) in table_of(whole).items()
        if len(gram) <= order
    }
    for words in (each.split() for each in (*ONE, *OTHER)):
        ids = [START, *(WORDS.index(word) for word in words), END]
        expected = [prob(table, tuple(ids[: end + 1])) for end in range(1, len(ids))]
        assert 10.0 ** cut.score([words]).log10_probs == pytest.approx(expected, rel=1e-9)
    found = sums(cut)
    assert found == pytest.approx([1.0] * len(found), abs=1e-9)


def mixed(weight: float) -> tuple[Closure, list[np.ndarray], BackoffModel, BackoffModel]:
    one, other = model_of(ONE), model_of(OTHER)
    closure = union([one, other])
    by_model = [log10_probs_of(closure, one), log10_probs_of(closure, other)]
    log10s = [
        np.log10(weight * 10.0**a + (1 - weight) * 10.0**b) for a, b in zip(*by_model, strict=True)
    ]
    return closure, log10s, one, other


@pytest.mark.parametrize("weight", [0.25, 1.0])
def test_a_union_has_the_mixed_probability_of_each_n_gram_of_either(weight: float) -> None:
    closure, log10s, one, other = mixed(weight)
    table = table_of(renormalised(closure, log10s, source="x"))
    tables = table_of(one), table_of(other)
    assert set(table) == set(tables[0]) | set(tables[1])
    for gram, (found, _) in table.items():
        if gram != (START,):
            expected = weight * prob(tables[0], gram) + (1 - weight) * prob(tables[1], gram)
            assert found == pytest.approx(expected, rel=1e-9)


def test_every_context_of_a_renormalised_union_sums_to_1() -> None:
    closure, log10s, _, _ = mixed(0.25)
    found = sums(renormalised(closure, log10s, source="x"))
    assert len(found) > 50
    assert found == pytest.approx([1.0] * len(found), abs=1e-9)


def test_a_union_with_itself_is_the_model() -> None:
    model = model_of(ONE)
    closure = union([model, model])
    same = renormalised(closure, log10_probs_of(closure, model), source="x")
    for found, expected in zip(same.orders, model.orders, strict=True):
        assert found.keys.tolist() == expected.keys.tolist()
        assert found.log10_probs == pytest.approx(expected.log10_probs, abs=1e-9)
        seen = np.isin(np.arange(len(expected.log10_backoffs)), [START, END], invert=True)
        assert found.log10_backoffs[seen[: len(found.log10_backoffs)]] == pytest.approx(
            expected.log10_backoffs[seen], abs=1e-6
        )


def test_n_grams_that_claim_more_than_all_are_scaled_down() -> None:
    closure, log10s, _, _ = mixed(0.5)
    log10s = [log10s[0], *(np.minimum(each + 2, 0.0) for each in log10s[1:])]
    model = renormalised(closure, log10s, source="x")
    found = sums(model)
    assert found == pytest.approx([1.0] * len(found), abs=1e-9)
    shares = np.bincount(closure.contexts(3), 10.0 ** model.orders[2].log10_probs)
    assert max(shares) == pytest.approx(MOST)


def test_a_context_that_all_words_follow_has_no_word_to_back_off_to() -> None:
    model = model_of(["a a", "a b", "a c", "a d", "a", "a <unk>"], order=2)
    closure = union([model])
    log10s = log10_probs_of(closure, model)
    same = renormalised(closure, log10s, source="x")
    follows_a = closure.contexts(2) == WORDS.index("a")
    assert follows_a.sum() == len(WORDS) - 1
    assert (10.0 ** same.orders[1].log10_probs[follows_a]).sum() == pytest.approx(1.0)
    assert np.isfinite(same.orders[0].log10_backoffs).all()


# As in a file pruned by SRILM: b c d, b c and c d are gone, a b c d stays.
WITHOUT_SUFFIXES: dict[tuple[str, ...], tuple[float, float]] = {
    ("<unk>",): (0.1, 1),
    ("<s>",): (0, 1),
    ("</s>",): (0.2, 1),
    ("d",): (0.1, 0.7 / 0.9),
    ("b",): (0.2, 1),
    ("c",): (0.1, 1),
    ("a",): (0.3, 0.6 / 0.8),
    ("a", "b"): (0.4, 0.5 / 0.9),
    ("d", "d"): (0.3, 1),
    ("a", "b", "c"): (0.5, 0.4 / 0.9),
    ("a", "b", "c", "d"): (0.6, 1),
}


def arpa(table: dict[tuple[str, ...], tuple[float, float]]) -> str:
    lines = [
        "\\data\\",
        *(f"ngram {n}={sum(len(gram) == n for gram in table)}" for n in range(1, 5)),
    ]
    for n in range(1, 5):
        lines += ["", f"\\{n}-grams:"]
        for gram, (share, backoff) in table.items():
            if len(gram) == n:
                log10 = math.log10(share) if share else -99
                lines.append(f"{log10}\t{' '.join(gram)}\t{math.log10(backoff)}")
    return "\n".join([*lines, "", "\\end\\", ""])


@pytest.fixture
def stranger(tmp_path: Path) -> BackoffModel:
    """A model of order 4, its words in another order, without some suffixes."""
    path = tmp_path / "stranger.arpa"
    path.write_text(arpa(WITHOUT_SUFFIXES))
    return read_arpa(path)


def test_suffixes_that_a_file_does_not_list_are_added_as_it_backs_off_to_them(
    stranger: BackoffModel,
) -> None:
    same = interpolated([stranger], [1.0])
    found = {
        tuple(same.words[i] for i in gram): share for gram, (share, _) in table_of(same).items()
    }
    added = {("b", "c"): 0.1, ("c", "d"): 0.1, ("b", "c", "d"): 0.1}
    assert {gram: found[gram] for gram in set(found) - set(WITHOUT_SUFFIXES)} == pytest.approx(
        added
    )
    assert sums(stranger) == pytest.approx([1.0] * len(sums(stranger)), abs=1e-9)
    sentences = [list(each) for each in product("abcd", repeat=5)]
    assert same.score(sentences).log10_probs == pytest.approx(
        stranger.score(sentences).log10_probs, abs=1e-6
    )


def test_a_suffix_after_unk_is_added_as_one_after_any_word(tmp_path: Path) -> None:
    path = tmp_path / "unk.arpa"
    words = {("<unk>",): (0.25, 1.0), ("<s>",): (0.0, 1.0), ("</s>",): (0.25, 1.0)}
    more = {("a",): (0.5, 2 / 3), ("a", "<unk>"): (0.5, 0.5), ("a", "<unk>", "a"): (0.75, 1.0)}
    path.write_text(arpa(words | more))
    same = interpolated([read_arpa(path)], [1.0])
    unk, a = map(same.words.index, ("<unk>", "a"))
    table = table_of(same)
    assert table[unk, a][0] == pytest.approx(0.5)
    assert table[a, unk, a][0] == pytest.approx(0.75)
    assert sums(same) == pytest.approx([1.0] * len(sums(same)), abs=1e-6)


def test_n_grams_of_a_file_that_claim_more_than_all_leave_a_millionth(tmp_path: Path) -> None:
    path = tmp_path / "too-much.arpa"
    words = {("<s>",): (0.0, 1.0), ("a",): (0.25, 1.0), ("b",): (0.25, 1.0), ("</s>",): (0.5, 1.0)}
    path.write_text(arpa(words | {("a", "a"): (0.75, 1.0), ("a", "b"): (0.5, 1.0)}))
    model = read_arpa(path)
    pruned = [entropy_pruned(model, threshold) for threshold in (0.0, 1e-9)]
    for same in (*pruned, interpolated([model], [1.0])):
        table, (a, b) = table_of(same), map(same.words.index, "ab")
        assert table[a, b] == pytest.approx((0.4 * (1 - 1e-6), 1.0), rel=1e-9)
        assert table[a,][1] == pytest.approx(1e-6 / 0.5, rel=1e-6)


def test_a_word_that_a_file_does_not_list_is_none_to_back_off_to(tmp_path: Path) -> None:
    path = tmp_path / "without-unk.arpa"
    follow = {("a", "</s>"): (0.2, 1.0), ("a", "a"): (0.3, 1.0), ("a", "b"): (0.5, 1.0)}
    words = {("<s>",): (0.0, 1.0), ("a",): (0.25, 1.0), ("b",): (0.25, 0.7 / 0.5)}
    path.write_text(arpa({("</s>",): (0.5, 1.0), **words, **follow, ("b", "</s>"): (0.3, 1.0)}))
    model = read_arpa(path)
    for same in (entropy_pruned(model, 1e-9), interpolated([model, model], [0.5, 0.5])):
        assert np.isfinite(same.orders[0].log10_backoffs).all()
        assert len(same.orders[1].keys) == 4
        assert sums(same) == pytest.approx([1.0] * len(sums(same)), abs=1e-6)


def test_a_context_whose_shorter_one_gives_the_rest_nothing_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    words = {("<s>",): (0.0, 1.0), ("a",): (0.25, 1.0), ("b",): (0.25, 1.0), ("</s>",): (0.5, 1.0)}
    twos = {("a", "a"): (0.5, 1.0), ("a", "b"): (0.0, 1.0), ("a", "</s>"): (0.5, 1.0)}
    threes = {("a", "a", "a"): (0.75, 1.0), ("a", "a", "</s>"): (0.25, 1.0)}
    path.write_text(arpa(words | twos | threes))
    pruned = entropy_pruned(read_arpa(path), 1e-9)
    assert all(np.isfinite(grams.log10_backoffs).all() for grams in pruned.orders)
    found = table_of(pruned)
    aa = tuple(pruned.words.index(word) for word in ("a", "a"))
    predicted = [number for number in range(len(pruned.words)) if number != START]
    assert sum(prob(found, (*aa, word)) for word in predicted) == pytest.approx(1.0)


def test_ngrams_in_a_context_that_never_comes_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    words = {("<s>",): (0.0, 1.0), ("a",): (0.25, 1.0), ("b",): (0.25, 1.0), ("</s>",): (0.5, 1.0)}
    twos = {("<s>", "a"): (0.0, 1.0), ("<s>", "b"): (0.5, 1.0), ("a", "b"): (0.0, 1.0)}
    path.write_text(arpa(words | twos | {("<s>", "a", "b"): (0.5, 1.0)}))
    assert entropy_pruned(read_arpa(path), 1e-3).sizes[1:] == (3, 1, 0)


def test_a_threshold_of_0_keeps_n_grams_that_are_worth_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    words = {("<s>",): (0.0, 1.0), ("a",): (0.25, 1.0), ("b",): (0.25, 1.0), ("</s>",): (0.5, 1.0)}
    path.write_text(arpa(words | {("a", "a"): (0.25, 1.0)}))
    model = read_arpa(path)
    assert [entropy_pruned(model, threshold).sizes[1] for threshold in (0.0, 1e-9)] == [1, 0]


def read_over(words: tuple[str, ...], model: BackoffModel, tmp_path: Path) -> BackoffModel:
    """The model as read from its file, with these words."""
    write_arpa(model, tmp_path / "own.arpa")
    return read_arpa(tmp_path / "own.arpa", words=words)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_models_of_other_orders_and_numberings_are_mixed_n_gram_by_n_gram(
    stranger: BackoffModel, weight: float, tmp_path: Path
) -> None:
    own = model_of(ONE, order=2)
    both = [own, read_over(WORDS, stranger, tmp_path)]
    mixture = interpolated(both, [weight, 1 - weight])
    tables = [table_of(model) for model in both]
    found = table_of(mixture)
    whole = table_of(read_over(WORDS, interpolated([stranger], [1.0]), tmp_path))
    assert set(found) == set(tables[0]) | set(whole)
    for gram, (share, _) in found.items():
        if gram != (START,):
            expected = weight * prob(tables[0], gram) + (1 - weight) * prob(tables[1], gram)
            assert share == pytest.approx(expected, rel=1e-6)
    assert sums(mixture) == pytest.approx([1.0] * len(sums(mixture)), abs=1e-9)


def test_renumbered_words_change_no_score(stranger: BackoffModel, tmp_path: Path) -> None:
    sentences = [each.split() for each in (*ONE, *OTHER, "a b c d d zz")]
    other = read_over(WORDS, stranger, tmp_path)
    assert other.words == WORDS != stranger.words
    assert other.score(sentences).log10_probs == pytest.approx(
        stranger.score(sentences).log10_probs, abs=1e-6
    )


def test_models_of_other_words_are_mixed_over_all_of_them(
    stranger: BackoffModel, tmp_path: Path
) -> None:
    words = (*MARKS, "f", "a", "b", "e")
    ids = encode([["a", "e"], ["a", "b", "f"], ["a", "e"]], Ids(words, closed=True))
    other = estimate(ids, words=words, order=2).model
    with pytest.raises(ValueError, match="other words"):
        union([stranger, other])
    all_words = (*stranger.words, "f", "e")
    both = [read_over(all_words, model, tmp_path) for model in (stranger, other)]
    assert [model.words for model in both] == [all_words] * 2
    assert [model.unlisted for model in both] == [{"f", "e"}, {"c", "d"}]
    assert [model.sizes for model in both] == [stranger.sizes, other.sizes]
    numbers = {word: number for number, word in enumerate(both[0].words)}
    mixture = table_of(interpolated(both, [0.4, 0.6]))
    tables = []  # of each model alone, in the numbers of all words
    for model in (stranger, other):
        alone = table_of(model)
        new = {old: numbers[word] for old, word in enumerate(model.words)}
        tables.append({tuple(new[i] for i in gram): pair for gram, pair in alone.items()})
    assert {gram for table in tables for gram in table} <= set(mixture)
    for gram, (share, _) in mixture.items():
        if gram != (START,):
            # A context with a word that the model lacks, and every shorter one, are not listed.
            parts = [prob(table, gram) if gram[-1:] in table else 0.0 for table in tables]
            assert share == pytest.approx(0.4 * parts[0] + 0.6 * parts[1], rel=1e-6)
    assert sums(interpolated(both, [0.4, 0.6])) == pytest.approx(
        [1.0] * len(sums(interpolated(both, [0.4, 0.6]))), abs=1e-9
    )


def test_a_pruned_model_keeps_the_probabilities_of_what_stays(stranger: BackoffModel) -> None:
    for model in (model_of(ONE), stranger):
        before, n_grams = table_of(model), []
        for threshold in (0.0, 1e-3, 1e-2, 1e9):
            pruned = entropy_pruned(model, threshold)
            after = table_of(pruned)
            n_grams.append(len(after))
            for gram, (share, _) in after.items():
                if gram != (START,):
                    assert share == pytest.approx(prob(before, gram), rel=1e-6)
            assert sums(pruned) == pytest.approx([1.0] * len(sums(pruned)), abs=1e-9)
        assert sorted(n_grams, reverse=True) == n_grams
        assert n_grams[0] > n_grams[-1] == len(WORDS)


def slow_losses(table: Table, *, n_words: int, order: int) -> dict[Gram, float]:
    """Stolcke's equation 5 for every n-gram above order 1, from its definition.

    The relative entropy between the model and the one without that n-gram, over all words.
    """
    predicted = [word for word in range(n_words) if word != START]
    losses = {}
    for gram in table:
        if len(gram) < 2:
            continue
        context, word = gram[:-1], gram[-1]
        listed = [w for w in predicted if (*context, w) in table and w != word]
        left = 1 - sum(table[*context, w][0] for w in listed)
        free = 1 - sum(prob(table, (*context[1:], w)) for w in listed)
        shorter = {**table, context: (table[context][0], left / free)}
        del shorter[gram]
        history = prob(table, (END,) if context[0] == START else context[:1])
        for length in range(2, len(context) + 1):
            history *= table[context[:length]][0]
        losses[gram] = history * sum(
            p * math.log(p / prob(shorter, (*context, w)))
            for w in predicted
            if (p := prob(table, (*context, w))) > 0
        )
    return losses


@pytest.mark.parametrize("threshold", [0.0, 1e-4, 1e-3, 1e-2, 1e9])
def test_what_is_worth_keeping_agrees_with_relative_entropies_over_all_words(
    threshold: float,
) -> None:
    closure, log10s, _, _ = mixed(0.5)
    model = renormalised(closure, log10s, source="x")
    losses = slow_losses(table_of(model), n_words=len(WORDS), order=3)
    wanted = {gram for gram, loss in losses.items() if math.expm1(loss) > threshold}
    for gram in sorted(wanted, key=len, reverse=True):
        for part in (gram[:-1], gram[1:]):
            if len(part) > 1:
                wanted.add(part)
    kept = worth_keeping(closure, model, threshold=threshold)
    smaller = closure.kept(kept)
    pruned = renormalised(
        smaller, [each[rows] for each, rows in zip(log10s, kept, strict=True)], source="x"
    )
    assert {gram for gram in table_of(pruned) if len(gram) > 1} == wanted
    assert sums(pruned) == pytest.approx([1.0] * len(sums(pruned)), abs=1e-9)
    before = table_of(model)
    assert all(
        found == pytest.approx(before[gram][0], rel=1e-9)
        for gram, (found, _) in table_of(pruned).items()
    )
