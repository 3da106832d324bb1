"""Every format: a sample with new scores reads back with them, or the scores stand alone."""

from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest

from charlm.nbest.formats import FORMATS, format_of
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.reading.format import Format, Source
from charlm.nbest.reading.policies import LN10

SAMPLES = SimpleNamespace(**run_path(str(Path(__file__).with_name("mutations.py"))))
# An archive's scores are an archive of costs, and a column without a name gets none.
OTHERS = {("kaldi", 1), ("tsv", 0)}
CASES = {(name, which) for name in FORMATS for which in range(len(SAMPLES.SEEDS.get(name, [])))}


def read(name: str, files: dict[str, str], folder: Path) -> tuple[Format, list[NbestList]]:
    path = SAMPLES.stored({file: text.encode() for file, text in files.items()}, folder)
    chosen = format_of(name)
    return chosen, list(chosen.read(Source(path)))


@pytest.mark.parametrize(("name", "which"), sorted(CASES - OTHERS))
def test_new_scores_read_back_beside_all_else_or_stand_alone_as_log10s(
    name: str, which: int, tmp_path: Path
) -> None:
    chosen, before = read(name, SAMPLES.SEEDS[name][which], tmp_path)
    scores = [tuple(-1.5 - i for i in range(len(each.hypotheses))) for each in before]
    files: dict[str, str] = {}
    for piece in chosen.write(map(Rescored, before, scores), reranked=False):
        files[piece.name] = files.get(piece.name, "") + piece.text
    if "".join(files.values()) == "".join(f"{s / LN10:.6f}\n" for own in scores for s in own):
        return  # the format has no place for a further score
    _, after = read(name, files, tmp_path)
    assert [each.id for each in after] == [each.id for each in before]
    for was, now, own in zip(before, after, scores, strict=True):
        found = [(each.words, dict(each.features)) for each in now.hypotheses]
        assert found == [
            (each.words, {**each.features, "charlm": pytest.approx(score)})
            for each, score in zip(was.hypotheses, own, strict=True)
        ]
