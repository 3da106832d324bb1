"""Lists in other encodings are read as in UTF-8, and written again as the same bytes."""

from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest

from charlm.errors import DataError
from charlm.nbest.formats import open_lists
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.output.writing import write_file, write_folder
from charlm.nbest.reading.format import Format, Piece, Source
from charlm.text.io.lines import UTF8, LineRules

MUTATIONS = SimpleNamespace(**run_path(str(Path(__file__).with_name("mutations.py"))))
UNSEEN = ("kaldi-text",)  # formats that have to be named
CASES = [(name, files) for name, each in MUTATIONS.SEEDS.items() for files in each]


def read(name: str, path: Path, encoding: str) -> tuple[Format, list[NbestList]]:
    source = Source(path, rules=LineRules(encoding=encoding))
    with open_lists(source, name=name if name in UNSEEN else "") as (chosen, lists):
        assert chosen.name == name
        return chosen, list(lists)


@pytest.mark.parametrize(("name", "files"), CASES, ids=[name for name, _ in CASES])
def test_a_list_in_gb18030_is_the_list_in_utf_8(
    name: str, files: dict[str, str], tmp_path: Path
) -> None:
    """Where bytes of characters may be ASCII's digits, and all of Unicode has its place."""
    found = {}
    for encoding in (UTF8, "gb18030"):
        content = {file: text.encode(encoding) for file, text in files.items()}
        path = MUTATIONS.stored(content, tmp_path / encoding)
        chosen, lists = read(name, path, encoding)
        found[encoding] = [[(h.words, h.features) for h in each.hypotheses] for each in lists]
        pieces = list(chosen.write([Rescored(each) for each in lists], reranked=False))
        out = tmp_path / f"{encoding}.out"
        if path.is_dir():
            write_folder(pieces, out, main="list", encoding=encoding)
            for file, expected in content.items():
                assert (out / file).read_bytes() == expected
        else:
            write_file(pieces, out, encoding=encoding)
            written, expected = out.read_bytes(), content[""]
            if name in MUTATIONS.JSON:  # blanks may differ
                values = MUTATIONS.values
                assert values(written.decode(encoding)) == values(expected.decode(encoding))
            else:
                assert written == expected
    assert found["gb18030"] == found[UTF8]


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "\\u0117", "text": "caf\u00e9 5 \\u20ac", "more": "\\ud83d"}\n',
        '{"id": "u", "hyps": [{"text": "caf\u00e9 \\ud83d\\ude00"}], "more": "\\u20ac"}\n',
    ],
)
def test_what_an_encoding_cannot_hold_stays_escaped_in_json(text: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(text.encode("latin-1"))
    chosen, lists = read("jsonl", tmp_path / "list", "latin-1")
    pieces = chosen.write([Rescored(each) for each in lists], reranked=False)
    write_file(pieces, tmp_path / "out", encoding="latin-1")
    assert (tmp_path / "out").read_bytes() == text.encode("latin-1")


def test_what_an_encoding_cannot_hold_is_no_part_of_a_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(DataError, match="^'€': cannot be written in latin-1, the --encoding"):
        write_file([Piece("", "a\n"), Piece("", "5 €\n")], out, encoding="latin-1")
    assert not out.exists()
