"""How Python's interpreter shows results and runs."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import charlm
from charlm.interface.short_repr import LONGEST, ShortRepr
from charlm.run.stored_weights import load_run


class Pages:
    def __repr__(self) -> str:
        return "Pages(\n  of text\n)"


@dataclass(frozen=True)
class Found(ShortRepr):
    name: str
    path: Path = Path("exp/first")
    numbers: tuple[int, ...] = (1, 2, 3)
    model: object = None


@dataclass(frozen=True, kw_only=True)
class More(Found):
    kept: list[str] = field(default_factory=list)


def test_short_values_stand_as_they_are() -> None:
    assert repr(Found("a")) == "Found(name='a', path='exp/first', numbers=(1, 2, 3), model=None)"


def test_long_lists_are_cut_and_what_has_many_lines_is_named() -> None:
    found = Found("a", numbers=tuple(range(100)), model=Pages())
    assert repr(found) == (
        "Found(name='a', path='exp/first', numbers=(0, 1, 2, ...), model=Pages(...))"
    )


def test_a_class_of_its_own_kind_shows_its_own_name_and_fields() -> None:
    assert repr(More("a", kept=["b"])).startswith("More(name='a', ")
    assert repr(More("a", kept=["b"])).endswith(", kept=['b'])")


def test_the_whole_has_its_limit() -> None:
    shown = repr(Found("a", model={f"key {k}" * 9: "value" * 9 for k in range(9)}))
    assert len(shown) == LONGEST
    assert shown.endswith("...)")


def test_runs_and_results_are_one_line(tiny_run: Path, corpus_dir: Path) -> None:
    run = load_run(tiny_run)
    (evaluation,) = charlm.evaluate(tiny_run, data=corpus_dir, device="cpu")
    words = charlm.load(tiny_run, device="cpu").score("a " * 1000)
    for each in (run, run.info, run.inventory, evaluation, words, charlm.vocab(data=corpus_dir)):
        assert len(repr(each)) <= LONGEST
        assert "\n" not in repr(each)
    ppl = evaluation.by_state["carried"].ppl
    assert f"'carried': Perplexity(ppl={ppl:.2f}, n_tokens=" in repr(evaluation)
    assert "</span>" in words._repr_html_()


def test_a_table_of_comparisons_is_one_line(corpus_dir: Path, tmp_path: Path) -> None:
    file = tmp_path / "tiny.json"
    file.write_text(json.dumps(charlm.compare_kn(data=corpus_dir, order=2).to_dict()))
    assert repr(charlm.table(file)) == "Table(state='carried', columns=(Column(...),))"
