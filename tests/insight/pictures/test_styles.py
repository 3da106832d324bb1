"""A run looks the same in every picture and like no other, with colours or without."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from charlm.insight.gates import TransformGate
from charlm.insight.pictures import draw, transform
from charlm.insight.pictures.subject import Subject
from charlm.insight.report_options import ReportOptions
from charlm.insight.text_reading import TextReading


@pytest.mark.parametrize("name", ["bands", "positions"])
def test_a_run_looks_alike_in_all_pictures_whichever_are_left_out(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    runs = [shutil.copytree(tiny_run, tmp_path / each) for each in ("one", "two", "three")]
    monkeypatch.setattr(TextReading, "comparable", property(lambda _: [0, 2]))
    subject = Subject(ReportOptions(runs, data=corpus_dir, device="cpu", threads=1))
    looks = [
        {
            (line.get_color(), line.get_marker())
            for line in draw(picture, subject).figure.axes[0].lines
            if str(line.get_label()).startswith(label)
        }
        for picture, label in (("curves", "three: validation"), (name, "three"))
    ]
    assert looks[0] == looks[1] != set()


def test_eight_runs_have_eight_looks(tiny_run: Path, tmp_path: Path) -> None:
    runs = [shutil.copytree(tiny_run, tmp_path / str(number)) for number in range(8)]
    (axes,) = draw("curves", Subject(ReportOptions(runs, device="cpu", threads=1))).figure.axes
    lines = [each for each in axes.lines if "validation" in str(each.get_label())]
    looks = {(each.get_color(), each.get_marker(), each.get_linestyle()) for each in lines}
    assert len(lines) == len(looks) == 8


def test_layers_are_told_apart_without_colours() -> None:
    gates = tuple(TransformGate(n, np.ones(40, np.int64), 0.5, 4, 1) for n in (1, 2))
    subject = SimpleNamespace(transform=gates, name="run")
    one, two = transform.draw(subject).figure.axes[0].patches  # type: ignore[arg-type]  # a stand-in
    assert one.get_linestyle() != two.get_linestyle()


def test_the_curves_of_runs_validated_by_sentence_say_so(tiny_run: Path) -> None:
    subject = Subject(ReportOptions(tiny_run, device="cpu", threads=1))
    (member,) = subject.members
    told = []
    for is_alone in (False, True):
        member = replace(member, is_validated_by_sentence=is_alone)
        stand_in = SimpleNamespace(
            names=[member.name], name=member.name, members=[member], histories=subject.histories
        )
        axes = draw("curves", stand_in).figure.axes[0]  # type: ignore[arg-type]  # a stand-in
        told.append(str(axes.lines[0].get_label()).endswith(", by sentence)"))
    assert told == [False, True]
