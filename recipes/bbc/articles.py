"""BBC's articles to sentences: those with the same text once, one of twenty for valid and for test.

    python recipes/bbc/articles.py ARCHIVE FOLDER

The headline, the first line of an article, is a sentence of its own. An article's number is that
in the order of the files' names, of those that are kept.
"""

from fetch import die, run, say
from sentences import sentences
from texts import SPLITS, members, split_of, write_lines


def text_of(content: bytes) -> str:
    """UTF-8, or Latin-1, in which one article has its pound sign."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")


def main(archive: str, folder: str) -> None:
    files = (each for each in members(archive) if each[0].endswith(".txt"))
    articles = sorted((name, text) for name, text in files if name.split("/")[-1][:-4].isdigit())
    if not articles:
        die(f"{archive}: no article in it; expected files like bbc/business/001.txt")
    lines = {split: list[str]() for split in SPLITS}
    kept: dict[str, None] = {}
    for _, content in articles:
        headline, _, body = text_of(content).partition("\n")
        if body in kept:
            continue
        paragraphs = [headline, *body.split("\n")]
        split = split_of(len(kept))
        lines[split] += [s for paragraph in paragraphs for s in sentences(paragraph)]
        kept[body] = None
    write_lines(folder, lines)
    say(f"{len(kept)} articles; {len(articles) - len(kept)} had the text of an earlier one")


if __name__ == "__main__":
    run(main)
