"""What get.sh makes of an archive: train.txt, valid.txt and test.txt, each whole or not there.

    python recipes/texts.py SET ARCHIVE FOLDER train=NAME valid=NAME test=NAME

copies three files of a zip or tar archive, each named by the end of its path, byte for byte. Texts
whose SHA-256 is known (recipes/texts.sha256) are compared with it.
"""

import hashlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from fetch import die, run, say

SPLITS = ("train", "valid", "test")
KNOWN = Path(__file__).with_name("texts.sha256")
DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)


def members(archive: str | Path) -> Iterator[tuple[str, bytes]]:
    """The files of an archive with what they hold; a damaged one ends the program."""
    path = Path(archive)
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                for name in packed.namelist():
                    yield name, packed.read(name)
        else:
            with tarfile.open(path) as packed_tar:
                for member in packed_tar:
                    file = packed_tar.extractfile(member) if member.isfile() else None
                    if file is not None:
                        yield member.name, file.read()
    except DAMAGED as error:
        reason = str(error).partition("\n")[0]  # tarfile tells of every packing that it tried
        die(f"{path}: no whole zip or tar archive ({reason}); remove it and run this again")


def split_of(number: int) -> str:
    """Of twenty documents in a row one is for valid, and one for test."""
    return {7: "valid", 17: "test"}.get(number % 20, "train")


def write_splits(folder: str | Path, texts: dict[str, bytes], *, set_name: str = "") -> None:
    """Write the three texts, all or none; says where one is not the text that is known."""
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    parts = {split: where / f"{split}.txt.part" for split in SPLITS}
    for split, part in parts.items():
        part.write_bytes(texts[split])
    for split in reversed(SPLITS):  # train.txt last: who finds it finds the others
        parts[split].replace(where / f"{split}.txt")
    known = {name: sha256 for sha256, name in map(str.split, KNOWN.read_text().splitlines())}
    for split in SPLITS:
        found, path = hashlib.sha256(texts[split]).hexdigest(), where / f"{split}.txt"
        if known.get(f"{set_name}/{split}.txt", found) != found:
            say(f"{path}: not the text that the papers use; the figures will differ")
        n_lines = texts[split].count(b"\n")
        say(f"{path}: {n_lines} lines, {len(texts[split].split())} tokens")


def write_lines(folder: str | Path, lines: dict[str, list[str]]) -> None:
    """As `write_splits`, of lines without their ends."""
    texts = {split: "".join(f"{line}\n" for line in lines[split]) for split in SPLITS}
    write_splits(folder, {split: text.encode() for split, text in texts.items()})


def main(set_name: str, archive: str, folder: str, *named: str) -> None:
    wanted = dict(each.split("=", 1) for each in named)
    found: dict[str, bytes] = {}
    for name, content in members(archive):
        for split, end in wanted.items():
            if f"/{name}".endswith(f"/{end}"):
                found[split] = content
        if len(found) == len(wanted):
            break
    for split, end in wanted.items():
        if split not in found:
            die(f"{archive}: no {end} in it; expected the publisher's archive")
    write_splits(folder, found, set_name=set_name)


if __name__ == "__main__":
    run(main)
