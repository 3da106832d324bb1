"""Makes made.txt, and figures.txt.xz: what lmplz answers for the three texts of this folder.

    python tests/ngram/lmplz/make.py LMPLZ

Run with KenLM 0.3.0's lmplz. Each answer follows a line `== TEXT ORDER PRUNING`: the lines of its
messages that tell discounts and fallbacks, then the ARPA file. tiny.txt holds a blank line, two.txt
gives no discounts at all, and made.txt gives all of them up to order 5.
"""

import lzma
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
TEXTS = ("two", "tiny", "made")
PRUNINGS = ("0", "0 0 1", "0 1 2", "1", "1 1 2")
N_SENTENCES = 170
# A last new word, whose n-grams read from their end have other counts than left neighbours.
LAST = ("léka1 suka4 zażu", "moka2 léka1 suka4 zażu", *["ñaka3 suka4 zażu léka1"] * 2, "zażu")
SYLLABLES = ("ka", "lé", "mo", "ña", "su", "ti", "że")


def recurrence() -> Iterator[int]:
    """Numbers below 2^15 that are the same everywhere."""
    state = 20_240_607
    while True:
        state = (1_103_515_245 * state + 12_345) % (1 << 31)
        yield state >> 16


def made_text() -> str:
    """Sentences over about 130 words of falling frequency, a third of them begun as another was."""
    numbers = recurrence()
    sentences: list[list[str]] = []
    for _ in range(N_SENTENCES):
        words = []
        if sentences and next(numbers) % 3 == 0:
            words = sentences[next(numbers) % len(sentences)][: 2 + next(numbers) % 4]
        for _ in range(next(numbers) % 9):
            rank = int(2.0 ** (7.1 * next(numbers) / (1 << 15)))
            words = [*words, SYLLABLES[rank % 7] + SYLLABLES[rank // 7 % 7] + str(rank)]
        sentences.append(words)
    lines = [*(" ".join(words) for words in sentences), *LAST]
    return "".join(f"{line}\n" for line in lines)


def answer(lmplz: str, text: str, *, order: int, pruning: str) -> str:
    """What lmplz says of a text, and its model."""
    options = ["--order", str(order), "--discount_fallback", "--prune", *pruning.split()]
    command = [lmplz, *options, "--memory", "200M"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    told = [line for line in done.stderr.decode().split("\n") if " D1=" in line]
    return "".join(f"{line}\n" for line in told) + done.stdout.decode()


def main(lmplz: str) -> None:
    (HERE / "made.txt").write_text(made_text(), encoding="utf-8")
    answers = []
    for name in TEXTS:
        text = (HERE / f"{name}.txt").read_text(encoding="utf-8")
        for order in range(1, 7):
            for pruning in PRUNINGS:
                if len(pruning.split()) <= order:
                    answers.append(f"== {name} {order} {pruning}\n")
                    answers.append(answer(lmplz, text, order=order, pruning=pruning))
    packed = lzma.compress("".join(answers).encode(), preset=9 | lzma.PRESET_EXTREME)
    (HERE / "figures.txt.xz").write_bytes(packed)


if __name__ == "__main__":
    main(sys.argv[1])
