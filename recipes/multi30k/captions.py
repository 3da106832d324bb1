"""Multi30k's tokenised captions as texts: XML entities decoded and NFC, nothing else.

python recipes/multi30k/captions.py DOWNLOADS LANGUAGE FOLDER
"""

import html
import unicodedata
from pathlib import Path

from fetch import run
from texts import write_splits

FILES = {"train": "train", "valid": "val", "test": "test_2016_flickr"}


def main(downloads: str, language: str, folder: str) -> None:
    texts = {}
    for split, name in FILES.items():
        path = Path(downloads) / f"{name}.lc.norm.tok.{language}"
        text = html.unescape(path.read_bytes().decode())
        texts[split] = unicodedata.normalize("NFC", text).encode()
    write_splits(folder, texts)


if __name__ == "__main__":
    run(main)
