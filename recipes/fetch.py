"""Downloads of recipes/addresses.tsv: gone on with where they broke off, and checked by their hash.

    python recipes/fetch.py FOLDER SET [NAME ...]

brings the files of a set, or those named, into FOLDER. A file that is there already is checked and
not fetched again, so one that was put there by hand will do. Needs no more than Python itself.

CHARLM_MIRROR  a host that has the files, in the place of the publishers'
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import NoReturn
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

TABLE = Path(__file__).with_name("addresses.tsv")
TIMEOUT = 60.0  # seconds without a byte
WHOLE = 416  # the server's answer to a request for what is behind the end


def say(message: str) -> None:
    sys.stderr.write(f"get: {message}\n")


def die(message: str) -> NoReturn:
    sys.exit(f"get: {message}")


def run(main: Callable[..., None]) -> None:
    """A program of get.sh: what a user can cause ends it in one line."""
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        say("interrupted; run this again to go on")
        sys.exit(130)
    except OSError as error:  # a folder that cannot be written, a full disk
        die(f"{error.filename}: {error.strerror}" if error.filename else str(error))


@dataclass(frozen=True)
class Row:
    """A line of the table: a file of a set, what it must hash to, and where it is published."""

    set: str
    name: str
    hash: str  # sha256:…, git:… (the id that git gives the file), or unverified
    address: str

    @property
    def source(self) -> str:
        """The address, at the mirror if one is said."""
        mirror = os.environ.get("CHARLM_MIRROR", "").rstrip("/")
        return mirror + urlsplit(self.address).path if mirror else self.address


def table() -> list[Row]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [Row(*line.split("\t")) for line in lines if line and not line.startswith("#")]


def chosen(set_name: str, names: list[str]) -> list[Row]:
    rows = {row.name: row for row in table() if row.set == set_name}
    for name in names:
        if name not in rows:
            known = ", ".join(known.partition(".")[0] for known in rows)
            die(f"{set_name}: no address for {name.partition('.')[0]!r}; expected one of {known}")
    return [rows[name] for name in names or rows]


def digest(path: Path, kind: str) -> str:
    """`sha256`, or `git`: SHA-1 of the length and the content, by which git names a file."""
    begun = hashlib.sha256()
    if kind == "git":
        begun = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: begun).hexdigest()


def check(row: Row, path: Path) -> None:
    """Ends the program where the file is not the publisher's."""
    kind, _, expected = row.hash.partition(":")
    if not expected:
        found = digest(path, "sha256")
        say(f"{path}: SHA-256 {found} (unverified: the publisher's is unknown)")
        return
    found = digest(path, kind)
    if found != expected:
        die(
            f"{row.source}: {kind} {found}, expected {expected}; remove {path} and run this again, "
            "or put the right file there by hand"
        )


def fetch(row: Row, path: Path) -> None:
    """Download to `path`, or go on with what an earlier call left beside it."""
    part = path.with_name(f"{path.name}.part")
    n_there = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "charlm"} | ({"Range": f"bytes={n_there}-"} if n_there else {})
    say(row.source)
    by_hand = f"or put the file at {path} by hand"
    try:
        with urlopen(Request(row.source, headers=headers), timeout=TIMEOUT) as answer:
            goes_on = answer.status == 206
            expected = answer.headers.get("Content-Length")
            n_all = None if expected is None else int(expected) + n_there * goes_on
            with part.open("ab" if goes_on else "wb") as file:
                shutil.copyfileobj(answer, file)
    except HTTPError as error:
        if not (error.code == WHOLE and _is_whole(error, n_there)):
            if error.code == WHOLE:  # another file than the one that was begun
                part.unlink()
            reason = f"HTTP {error.code} {error.reason}"
            die(f"{row.source}: {reason}; has it moved? run this again, {by_hand}")
        n_all = n_there
    except (OSError, HTTPException, ValueError) as error:
        if getattr(error, "filename", None):  # the file's fault, and not the network's
            raise
        reason = getattr(error, "reason", None) or error
        die(f"{row.source}: {reason}; run this again to go on, {by_hand}")
    n_there = part.stat().st_size
    if n_all is not None and n_there != n_all:
        die(f"{row.source}: {n_there} of {n_all} bytes came; run this again to go on, {by_hand}")
    part.replace(path)


def _is_whole(error: HTTPError, n_there: int) -> bool:
    """Whether the server says that all it has is there."""
    return (error.headers.get("Content-Range") or "").endswith(f"/{n_there}")


def main(folder: str, set_name: str, *names: str) -> None:
    rows = chosen(set_name, list(names))
    Path(folder).mkdir(parents=True, exist_ok=True)
    for row in rows:
        path = Path(folder) / row.name
        if not path.exists():
            fetch(row, path)
        check(row, path)


if __name__ == "__main__":
    run(main)
