"""get.sh of every data set, from small archives with the publishers' layout on 127.0.0.1."""

import hashlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

Tree = Any  # the class of conftest.py, which tests cannot import
Done = subprocess.CompletedProcess[str]
SPLITS = ("train", "valid", "test")


class Publisher(BaseHTTPRequestHandler):
    """Serves files by path, from the requested offset, and breaks off where it is told to."""

    def __init__(self, files: dict[str, bytes], *arguments: Any, **options: Any) -> None:
        self.files = files
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        content = self.files.get(self.path)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = int(asked[1]) if asked else 0
        self.files[f"asked {self.path}"] = str(first).encode()
        if content is None:
            self.send_error(404)
            return
        if asked and first >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.end_headers()
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        self.wfile.write(content[first : int(self.files.get("breaks off at", b"999999"))])

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the tests' output is theirs."""


@pytest.fixture
def files() -> dict[str, bytes]:
    """What the publisher has, by path."""
    return {}


@pytest.fixture
def host(files: dict[str, bytes]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Publisher, files))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def tar(texts: dict[str, str], *, packing: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{packing}") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def zipped(texts: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return packed.getvalue()


def publish(tree: Tree, files: dict[str, bytes], contents: dict[str, bytes]) -> dict[str, str]:
    """Publishes files as the table says, and writes their hashes into it; returns paths by name."""
    table, paths = tree.root / "recipes" / "addresses.tsv", {}
    lines = table.read_text().splitlines()
    for number, line in enumerate(lines):
        if line.startswith("#"):
            continue
        set_name, name, _, address = line.split("\t")
        if name in contents:
            paths[name] = "/" + address.split("/", 3)[3]
            files[paths[name]] = contents[name]
            sha256 = hashlib.sha256(contents[name]).hexdigest()
            lines[number] = "\t".join([set_name, name, f"sha256:{sha256}", address])
    table.write_text("\n".join(lines) + "\n")
    return paths


def texts_in(folder: Path) -> dict[str, str]:
    return {split: (folder / f"{split}.txt").read_text() for split in SPLITS}


def last_line(done: Done) -> str:
    assert done.returncode == 1, done.stderr
    return done.stderr.splitlines()[-1]


PTB = {f"./simple-examples/data/ptb.{s}.txt": f" the {s} set \n" for s in SPLITS}


@pytest.fixture
def ptb(tree: Tree, files: dict[str, bytes]) -> str:
    """The path of a Penn Treebank in small."""
    content = tar({"./simple-examples/README": "x", **PTB}, packing="gz")
    return publish(tree, files, {"simple-examples.tgz": content})["simple-examples.tgz"]


def test_the_penn_treebank_comes_as_it_is(tree: Tree, host: str, ptb: str, tmp_path: Path) -> None:
    done = tree.run("ptb/get.sh", str(tmp_path / "ptb"), CHARLM_MIRROR=host)
    assert done.returncode == 0, done.stderr
    assert texts_in(tmp_path / "ptb") == {s: f" the {s} set \n" for s in SPLITS}
    assert "train.txt: not the text that the papers use; the figures will differ" in done.stderr


def test_a_second_call_fetches_nothing(
    tree: Tree, host: str, ptb: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    tree.run("ptb/get.sh", str(tmp_path), CHARLM_MIRROR=host)
    files.clear()
    done = tree.run("ptb/get.sh", str(tmp_path), CHARLM_MIRROR=host)
    assert (done.returncode, done.stderr, files) == (0, f"get: {tmp_path}: there already\n", {})


def test_wikitext_2_keeps_its_empty_lines(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    text = " \n = A = \n \n b <unk> \n"
    archive = zipped({f"wikitext-2/wiki.{s}.tokens": text for s in SPLITS})
    publish(tree, files, {"wikitext-2-v1.zip": archive})
    done = tree.run("wikitext-2/get.sh", str(tmp_path), CHARLM_MIRROR=host)
    assert done.returncode == 0, done.stderr
    assert texts_in(tmp_path) == dict.fromkeys(SPLITS, text)


def test_stories_times_and_pairs_come_with_a_text_to_train_on(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    text = zipped({f"wikitext-2/wiki.{s}.tokens": f" {s} \n" for s in SPLITS})
    pairs = zipped({"data/passive_1.jsonl": "{}\n"})
    stories = {"all_stories.tok": b"word\n", "processed_wordinfo.tsv": b"word\n"}
    publish(tree, files, {**stories, "BLiMP.zip": pairs, "wikitext-2-v1.zip": text})
    for _ in range(2):  # the second call fetches nothing, and does no harm
        done = tree.run("reading-times/get.sh", str(tmp_path), CHARLM_MIRROR=host)
        assert done.returncode == 0, done.stderr
        files.clear()
    assert (tmp_path / "all_stories.tok").read_text() == "word\n"
    assert (tmp_path / "processed_wordinfo.tsv").read_text() == "word\n"
    assert (tmp_path / "blimp" / "passive_1.jsonl").read_text() == "{}\n"
    assert texts_in(tmp_path / "wikitext-2") == {s: f" {s} \n" for s in SPLITS}


def test_news_validates_on_test_in_and_tests_on_finaltest_in(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    names = ("train.in", "test.in", "finaltest.in")
    content = {f"icml14-data/en-cs/1m-mono/{n}": f"{n} 0 <unk>\n" for n in names}
    content["icml14-data/en-de/1m-mono/train.in"] = "other\n"
    publish(tree, files, {"icml14-data.tar.bz2": tar(content, packing="bz2")})
    done = tree.run("languages/get.sh", "--news", str(tmp_path), "cs", CHARLM_MIRROR=host)
    assert done.returncode == 0, done.stderr
    assert texts_in(tmp_path / "cs") == {
        split: f"{name} 0 <unk>\n" for split, name in zip(SPLITS, names, strict=True)
    }


def bible(chapters: dict[str, list[str | None]]) -> bytes:
    """A Bible in the corpus's XML; a verse that is None is not there."""
    divisions = "".join(
        f'<div id="b.{chapter}" type="chapter">'
        + "".join(
            f'<seg id="b.{chapter}.{number}" type="verse">\n\t{verse}\n</seg>'
            for number, verse in enumerate(verses, 1)
            if verse is not None
        )
        + "</div>"
        for chapter, verses in chapters.items()
    )
    return f'<?xml version="1.0" ?><cesDoc><text>{divisions}</text></cesDoc>'.encode()


def test_a_bible_is_split_by_the_running_number_of_the_chapter_in_the_kjv(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    # Genesis has 50 chapters: Exodus 8 is number 57, which is 17 beyond a multiple of 20.
    chapters = {
        "GEN.1": ["In the beginning &amp; after", None, "Light"],
        "GEN.8": ["And God"],
        "EXO.8": ["Frogs", ""],
        "TOB.1": ["Not of the 66"],
    }
    publish(tree, files, {"cs.xml": bible(chapters)})
    done = tree.run("languages/get.sh", str(tmp_path), "cs", CHARLM_MIRROR=host)
    assert done.returncode == 0, done.stderr
    assert texts_in(tmp_path / "cs" / "raw") == {
        "train": "In the beginning & after\nLight\n",
        "valid": "And God\n",
        "test": "Frogs\n",
    }
    assert done.stderr.splitlines()[-1] == (
        "get: cs.xml: 1 verses are empty, 1 numbers are skipped (merged with the verse before, or "
        "not there), 1 are of books beyond the 66"
    )


def test_one_of_twenty_articles_is_for_valid_and_one_for_test_and_none_is_there_twice(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    articles = {
        f"bbc/sport/{n:03}.txt": f"Headline {n}\n\nMr. Blair won {n}. Then he left.\n"
        for n in range(20)
    }
    articles["bbc/tech/001.txt"] = "Another headline\n\nMr. Blair won 3. Then he left.\n"
    articles["bbc/README.TXT"] = "about\n"
    publish(tree, files, {"bbc-fulltext.zip": zipped(articles)})
    done = tree.run("bbc/get.sh", str(tmp_path), CHARLM_MIRROR=host)
    assert done.returncode == 0, done.stderr
    found = texts_in(tmp_path / "raw")
    assert found["valid"] == "Headline 7\nMr. Blair won 7.\nThen he left.\n"
    assert found["test"] == "Headline 17\nMr. Blair won 17.\nThen he left.\n"
    assert len(found["train"].splitlines()) == 18 * 3
    assert done.stderr.endswith("get: 20 articles; 1 had the text of an earlier one\n")


def test_half_of_the_film_reviews_are_for_train_and_long_sentences_are_not_for_test(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    reviews = {f"aclImdb/train/pos/{n}_9.txt": f"Good {n}.<br /><br />Bad." for n in range(4)}
    for n in range(20):
        reviews[f"aclImdb/test/neg/{n:02}_1.txt"] = f"Film {n}. {'x' * 500}. End."
    reviews["aclImdb/train/unsup/0_0.txt"] = "No label."
    publish(tree, files, {"aclImdb_v1.tar.gz": tar(reviews, packing="gz")})
    done = tree.run("imdb/get.sh", str(tmp_path), CHARLM_MIRROR=host)
    assert done.returncode == 0, done.stderr
    # By the rule "x…" begins no sentence: it joins the one before, which is then too long.
    assert texts_in(tmp_path / "raw") == {
        "train": "Good 0.\nBad.\nGood 2.\nBad.\n",
        "valid": "End.\n",
        "test": "End.\n",
    }


def test_captions_come_with_their_entities_decoded(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    names = ("train", "val", "test_2016_flickr")
    captions = {f"{n}.lc.norm.tok.en": b"a man &apos;s hat &amp; e\xcc\x81\n" for n in names}
    publish(tree, files, captions)
    done = tree.run("multi30k/get.sh", str(tmp_path), "en", CHARLM_MIRROR=host)
    assert done.returncode == 0, done.stderr
    assert texts_in(tmp_path / "en") == dict.fromkeys(SPLITS, "a man 's hat & \u00e9\n")


def hyporadise(n: int, **more: object) -> bytes:
    """Two hypotheses an utterance."""
    each = {"id": "x", "am_score": [-0.25, -1.5], **more}
    lists = [{"input": [f"Say  {i}", "say"], "output": f"SAY {i} "} | each for i in range(n)]
    return json.dumps(lists).encode()


def test_whispers_lists_come_with_references_and_text_to_train_on(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    publish(tree, files, {"test_atis.json": hyporadise(1), "train_atis.json": hyporadise(10)})
    done = tree.run("rescoring/get.sh", str(tmp_path), CHARLM_MIRROR=host)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "atis.nbest.tsv").read_text() == (
        "atis-00000\t1\t-0.250000\tsay 0\natis-00000\t2\t-1.500000\tsay\n"
    )
    assert (tmp_path / "atis.ref.txt").read_text() == "atis-00000\tsay 0\n"
    train = "".join(f"say {n}\n" for n in range(10) if n != 6)
    assert texts_in(tmp_path / "atis") == {"train": train, "valid": "say 6\n", "test": "say 0\n"}
    files.clear()
    again = tree.run("rescoring/get.sh", str(tmp_path), CHARLM_MIRROR=host)
    assert (again.returncode, files) == (0, {})


@pytest.mark.parametrize("content", [b"<html>", hyporadise(1, am_score=[1]), b'{"a": 1}'])
def test_lists_that_are_none_are_one_line(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path, content: bytes
) -> None:
    publish(tree, files, {"test_atis.json": content, "train_atis.json": hyporadise(1)})
    line = last_line(tree.run("rescoring/get.sh", str(tmp_path), CHARLM_MIRROR=host))
    assert line.startswith(f"get: {tmp_path}/downloads/test_atis.json: not HyPoradise's lists (")
    assert line.endswith("); remove it and run this again")
    assert not (tmp_path / "atis.ref.txt").exists()


def test_a_download_that_broke_off_goes_on_where_it_was(
    tree: Tree, host: str, ptb: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    files["breaks off at"] = b"100"
    line = last_line(tree.run("ptb/get.sh", str(tmp_path), CHARLM_MIRROR=host))
    path, n_bytes = tmp_path / "downloads" / "simple-examples.tgz", len(files[ptb])
    assert line == (
        f"get: {host}{ptb}: 100 of {n_bytes} bytes came; run this again to go on, or put the file "
        f"at {path} by hand"
    )
    del files["breaks off at"]
    assert tree.run("ptb/get.sh", str(tmp_path), CHARLM_MIRROR=host).returncode == 0
    assert files[f"asked {ptb}"] == b"100"
    assert path.read_bytes() == files[ptb]


def test_a_download_that_was_whole_before_it_was_renamed_is_taken(
    tree: Tree, host: str, ptb: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "simple-examples.tgz.part").write_bytes(files[ptb])
    assert tree.run("ptb/get.sh", str(tmp_path), CHARLM_MIRROR=host).returncode == 0


def test_a_file_that_moved_is_one_line_with_its_address(
    tree: Tree, host: str, tmp_path: Path
) -> None:
    line = last_line(tree.run("bbc/get.sh", str(tmp_path), CHARLM_MIRROR=host))
    assert line == (
        f"get: {host}/files/datasets/bbc-fulltext.zip: HTTP 404 Not Found; has it moved? run this "
        f"again, or put the file at {tmp_path}/downloads/bbc-fulltext.zip by hand"
    )


def test_no_network_is_one_line_with_the_address(tree: Tree, tmp_path: Path) -> None:
    line = last_line(tree.run("ptb/get.sh", str(tmp_path), CHARLM_MIRROR="http://127.0.0.1:1"))
    assert line.startswith("get: http://127.0.0.1:1/~imikolov/rnnlm/simple-examples.tgz: ")
    assert line.endswith(
        "Connection refused; run this again to go on, or put the file at "
        f"{tmp_path}/downloads/simple-examples.tgz by hand"
    )


@pytest.mark.parametrize("blocked", ["downloads/simple-examples.tgz.part", "train.txt.part"])
def test_a_place_that_cannot_be_written_is_one_line_with_its_name(
    tree: Tree, host: str, ptb: str, tmp_path: Path, blocked: str
) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / blocked).symlink_to("/gone/away")  # a file mode would not stop root
    line = last_line(tree.run("ptb/get.sh", str(tmp_path), CHARLM_MIRROR=host))
    assert line == f"get: {tmp_path}/{blocked}: No such file or directory"


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    program = Path(__file__).parents[2] / "recipes" / "fetch.py"
    with socket.create_server(("127.0.0.1", 0)) as publisher:
        mirror = f"http://127.0.0.1:{publisher.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, program, tmp_path, "ptb"],
            env={**os.environ, "CHARLM_MIRROR": mirror},
            stderr=subprocess.PIPE,
            text=True,
        )
        connection, _ = publisher.accept()
        with connection:  # without an answer
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[1:] == ["get: interrupted; run this again to go on"]


def test_another_file_than_the_publishers_is_refused_and_nothing_unpacked(
    tree: Tree, host: str, files: dict[str, bytes], ptb: str, tmp_path: Path
) -> None:
    expected = hashlib.sha256(files[ptb]).hexdigest()
    files[ptb] = b"<html>moved</html>"
    line = last_line(tree.run("ptb/get.sh", str(tmp_path), CHARLM_MIRROR=host))
    path = tmp_path / "downloads" / "simple-examples.tgz"
    assert line == (
        f"get: {host}{ptb}: sha256 {hashlib.sha256(files[ptb]).hexdigest()}, expected {expected}; "
        f"remove {path} and run this again, or put the right file there by hand"
    )
    assert not (tmp_path / "train.txt").exists()


def test_a_hash_of_git_is_that_which_git_gives(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    publish(tree, files, {"cs.xml": b"hello\n"})
    table = tree.root / "recipes" / "addresses.tsv"
    id_of_hello = "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object of "hello\n"
    table.write_text(re.sub(r"(cs\.xml\t)\S+", rf"\1git:{id_of_hello}", table.read_text()))
    line = last_line(tree.run("languages/get.sh", str(tmp_path), "cs", CHARLM_MIRROR=host))
    assert line.startswith(f"get: {tmp_path}/downloads/cs.xml: no Bible in the corpus's XML (")


@pytest.mark.parametrize("name", ["simple-examples.tgz", "bbc-fulltext.zip"])
def test_a_damaged_archive_is_one_line(
    tree: Tree, host: str, files: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    publish(tree, files, {name: b"PK not an archive"})
    script = "ptb/get.sh" if name.startswith("simple") else "bbc/get.sh"
    line = last_line(tree.run(script, str(tmp_path), CHARLM_MIRROR=host))
    assert line.startswith(f"get: {tmp_path}/downloads/{name}: no whole zip or tar archive (")
    assert line.endswith("); remove it and run this again")


def test_a_hash_that_nobody_can_check_is_said_to_be_unverified(
    tree: Tree, host: str, ptb: str, tmp_path: Path
) -> None:
    table = tree.root / "recipes" / "addresses.tsv"
    table.write_text(re.sub(r"(examples\.tgz\t)\S+", r"\1unverified", table.read_text()))
    done = tree.run("ptb/get.sh", str(tmp_path), CHARLM_MIRROR=host)
    assert done.returncode == 0, done.stderr
    assert "(unverified: the publisher's is unknown)" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["languages/get.sh", "OUT", "xx"], "get: languages: no address for 'xx'; expected one of"),
        (["languages/get.sh", "--news", "OUT", "ar"], "get: news: no text for 'ar'; expected one"),
        (["multi30k/get.sh", "OUT", "es"], "get: multi30k: no address for 'es'; expected one of"),
    ],
)
def test_a_language_without_an_address_is_one_line(
    tree: Tree, tmp_path: Path, arguments: list[str], message: str
) -> None:
    script, *others = (each.replace("OUT", str(tmp_path / "out")) for each in arguments)
    done = tree.run(script, *others)
    assert last_line(done).startswith(message)
    assert len(done.stderr.splitlines()) == 1


def test_every_row_of_the_table_says_how_its_file_is_checked(tree: Tree) -> None:
    rows = [
        line.split("\t")
        for line in (tree.root / "recipes" / "addresses.tsv").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert all(re.fullmatch(r"unverified|sha256:[0-9a-f]{64}|git:[0-9a-f]{40}", r[2]) for r in rows)
    assert len({(row[0], row[1]) for row in rows}) == len(rows)
