"""The class-factored output: how words are assigned to classes, and probabilities by hand."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError, DataError
from charlm.model.build import OUTPUT
from charlm.model.outputs.class_based import ClassSoftmax, by_mass
from charlm.settings import build_part, shown
from charlm.text.vocabulary.vocabulary import Inventory

DIM = 2


def toolkit_classes(counts: Sequence[int], n_classes: int, *, is_root: bool) -> list[int]:
    """The loop of the RNNLM toolkit's `sortVocab`, with its variables: old classes and new ones."""
    class_index = []
    a, df, b, dd = 0, 0.0, 0, 0.0
    for cn in counts:
        b += cn
    for cn in counts:
        dd += math.sqrt(cn / b)
    for cn in counts:
        df += math.sqrt(cn / b) / dd if is_root else cn / b
        if df > 1:
            df = 1
        if df > (a + 1) / n_classes:
            class_index.append(a)
            if a < n_classes - 1:
                a += 1
        else:
            class_index.append(a)
    return class_index


@pytest.mark.parametrize("is_root", [False, True])
@pytest.mark.parametrize("n_classes", [1, 2, 7, 40])
def test_classes_by_mass_are_those_of_the_toolkits_loop(n_classes: int, is_root: bool) -> None:
    counts = [300, 7, *(1 + 997 // rank for rank in range(1, 200))]
    found = by_mass(counts, n_classes, is_root=is_root)
    assert found == toolkit_classes(counts, n_classes, is_root=is_root)


def test_words_that_were_never_counted_are_in_one_class() -> None:
    assert by_mass([0, 0, 0], 2, is_root=False) == [0, 0, 0]


def output_of(words: str, counts: Sequence[int] = (), **options: Any) -> ClassSoftmax:
    listed = ("</s>", "<unk>", *words.split())
    inventory = Inventory(listed, tuple(counts) or (1,) * len(listed), ("a",))
    settings = {"type": "class", **options}
    may_read = options.get("file") != "stored"
    output, _ = build_part(OUTPUT, settings, leading=[DIM, inventory, None], may_read=may_read)
    assert isinstance(output, ClassSoftmax)
    return output


def test_probabilities_of_two_classes_by_hand() -> None:
    output = output_of("a b", counts=(4, 1, 2, 1), classes=2, assignment="mass")
    assert output.levels.cluster_V.tolist() == [0, 0, 1, 1]  # 4 of 8 is not more than a half
    for parameter in output.parameters():
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        output.levels.clusters.bias[:] = torch.tensor([0.0, math.log(3)])
        output.levels.words.bias[:] = torch.log(torch.tensor([1.0, 4.0, 2.0, 2.0]))
    expected = [1 / 4 * 1 / 5, 1 / 4 * 4 / 5, 3 / 4 * 1 / 2, 3 / 4 * 1 / 2]
    p = output.log_probs(torch.ones(1, DIM)).exp()[0]
    torch.testing.assert_close(p, torch.tensor(expected))
    nll = output.nll(torch.ones(4, DIM), torch.tensor([3, 0, 1, 0]))
    torch.testing.assert_close(nll, -torch.tensor(expected)[[3, 0, 1, 0]].log())


@pytest.mark.parametrize(("n_words", "n_classes"), [(9, 3), (10, 4)])
def test_by_default_there_are_at_most_as_many_classes_as_the_root_of_v(
    n_words: int, n_classes: int
) -> None:
    output = output_of(" ".join("abcdefgh"[: n_words - 2]))
    assert output.levels.clusters.out_features == n_classes


def test_more_classes_than_words_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        output_of("a", classes=4)
    assert str(caught.value) == (
        "option 'classes' of output 'class' is 4; expected at most the 3 words"
    )


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "classes").write_text("a\tX\nb\tY\nc\tX\nd\tZ\n")
    return str(tmp_path / "classes")


def test_a_file_decides_the_classes_and_a_run_keeps_their_number_and_no_path(file: str) -> None:
    inventory = Inventory(("</s>", "<unk>", "a", "b", "c"), (1,) * 5, ("a",))
    settings = {"type": "class", "file": file}
    output, resolved = build_part(OUTPUT, settings, leading=[DIM, inventory, None], may_read=True)
    assert resolved == {"type": "class", "classes": 4, "assignment": "sqrt-mass", "file": "stored"}
    assert output.levels.cluster_V.tolist() == [0, 1, 2, 3, 2]
    loaded, again = build_part(OUTPUT, resolved, leading=[DIM, inventory, None])
    assert again == resolved
    loaded.load_state_dict(output.state_dict())
    loaded.check_loaded()
    h, words = torch.ones(5, DIM), torch.arange(5)
    assert torch.equal(loaded.nll(h, words), output.nll(h, words))


def test_a_path_in_the_settings_of_a_run_is_not_opened(file: str) -> None:
    inventory = Inventory(("</s>", "<unk>", "a"), (1,) * 3, ("a",))
    with pytest.raises(ConfigError) as caught:
        build_part(OUTPUT, {"type": "class", "file": file}, leading=[DIM, inventory, None])
    assert str(caught.value) == (
        f"option 'file' of output 'class' is {shown(file)}; expected 'stored' in a run"
    )


def test_classes_that_no_checkpoint_has_brought_are_refused_where_they_are_used() -> None:
    output = output_of("a b", classes=2, file="stored")
    with pytest.raises(DataError) as caught:
        output.nll(torch.ones(1, DIM), torch.tensor([2]))
    assert str(caught.value) == (
        "cluster_V does not put the 4 words into 2 clusters of one or more; "
        "the run is damaged, or has no checkpoint yet; train anew"
    )


def test_stored_classes_without_their_number_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        output_of("a b", file="stored")
    assert str(caught.value) == (
        "option 'classes' of output 'class' is 0 where 'file' is 'stored'; expected their number; "
        "a run says both"
    )


def test_another_number_of_classes_than_the_files_is_refused(file: str) -> None:
    with pytest.raises(ConfigError) as caught:
        output_of("a b c", classes=3, file=file)
    assert str(caught.value) == (
        f"option 'classes' of output 'class' is 3 and {file} has 4; "
        "expected 0, for as many as it has"
    )
