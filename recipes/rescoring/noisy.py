"""Lists of a channel that misspells: from sentences, what a recogniser of letters might have read.

    python noisy.py TEXT VOCABULARY LISTS REFS

TEXT is a sentence a line, VOCABULARY a text whose words the channel confuses with others. LISTS
gets ten hypotheses of each sentence with their scores `am`, REFS the sentences. One word in five is
unclear: it is itself, one to three words of the vocabulary one letter away, or one to three typing
errors, and each has a normal score, the right one's higher by 1 on average.
"""

import heapq
import itertools
import random
import sys
from pathlib import Path

UNCLEAR, AHEAD, N_BEST, MOST_UNCLEAR = 0.2, 1.0, 10, 8


def one_letter_off(word: str, *, letters: str) -> set[str]:
    """All strings that one insertion, deletion, substitution or swap makes of a word."""
    halves = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    found = {a + b[1:] for a, b in halves if b}
    found |= {a + b[1] + b[0] + b[2:] for a, b in halves if len(b) > 1}
    found |= {a + c + b[n:] for a, b in halves for c in letters for n in (0, 1)}
    return found - {word, ""}


def candidates(
    word: str, *, vocabulary: set[str], letters: str, draw: random.Random
) -> list[tuple[float, str]]:
    """What may have been read, the likeliest first."""
    near = sorted(one_letter_off(word, letters=letters))
    known = [each for each in near if each in vocabulary]
    typos = [each for each in near if each not in vocabulary]
    wrong = draw.sample(known, min(len(known), draw.randint(1, 3)))
    wrong += draw.sample(typos, min(len(typos), draw.randint(1, 3)))
    scored = [(draw.gauss(AHEAD, 1), word), *((draw.gauss(0, 1), each) for each in wrong)]
    return sorted(scored, reverse=True)


def hypotheses(
    words: list[str], *, vocabulary: set[str], letters: str, draw: random.Random
) -> list[tuple[float, str]]:
    """The best readings of a sentence."""
    unclear = [n for n, word in enumerate(words) if word.isalpha() and draw.random() < UNCLEAR]
    unclear = unclear[:MOST_UNCLEAR]
    best = [(0.0, tuple(words))]
    for place in unclear:
        choices = candidates(words[place], vocabulary=vocabulary, letters=letters, draw=draw)
        longer = (
            (score + more, (*found[:place], word, *found[place + 1 :]))
            for (score, found), (more, word) in itertools.product(best, choices)
        )
        best = heapq.nlargest(N_BEST, longer)
    return [(score, " ".join(found)) for score, found in best]


def main() -> None:
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    text, known, lists, refs = map(Path, sys.argv[1:])
    sentences = [line.split() for line in text.read_text("utf-8").splitlines() if line.strip()]
    counts = known.read_text("utf-8").split()
    vocabulary, letters = set(counts), "".join(sorted({c for word in set(counts) for c in word}))
    letters = "".join(c for c in letters if c.isalpha())
    draw = random.Random(1)
    with open(lists, "w", encoding="utf-8") as out, open(refs, "w", encoding="utf-8") as right:
        out.write("id\tam\ttext\n")
        for number, words in enumerate(sentences):
            right.write(f"s{number:04}\t{' '.join(words)}\n")
            found = hypotheses(words, vocabulary=vocabulary, letters=letters, draw=draw)
            for score, hypothesis in found:
                out.write(f"s{number:04}\t{score:.4f}\t{hypothesis}\n")


if __name__ == "__main__":
    main()
