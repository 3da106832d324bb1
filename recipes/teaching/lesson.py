"""Three lessons on one page that needs no network; their models are small and trained here.

    python recipes/teaching/lesson.py [FOLDER]

1. What a character CNN sees: the letters to which its filters answer, and its neighbours.
2. Why gates: how much a word k places back moves a prediction, in an RNN, an LSTM and a GRU.
3. Lesioned highway layers: the perplexity with the gates of one shut (Srivastava et al., 2015).
"""

import argparse
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import charlm
from charlm.notebook import COLOUR, table_html
from charlm.text.corpus.split import SUMMARY
from charlm.text.io.html_page import page_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from charlm.model.encoders.char_cnn import CharCNN
    from charlm.run.stored_weights import LoadedRun

FOLDER = Path("exp/teaching")
TEMPLATE = Path(__file__).with_name("template.html")
MAX_TOKENS = 200_000  # of the English of Python's docstrings
CELLS = ("rnn", "lstm", "gru")
N_BACK, WARM_UP = 40, 20  # words back that are looked at, and words read before the first of them
N_WINDOWS = 64
FAR = 20  # words back, from where on what is left shrinks by a constant factor
SHOWN = (1, 5, 10, FAR, N_BACK - 1)  # words back in the table
N_SENTENCES = 400  # of valid.txt, for the lesions
N_SUBSTRINGS, N_ASKED = 8, 100  # of a filter: shown, and compared with
CANDIDATES = 10  # filters of each width of which the two most selective are shown
WORDS = ("unhelpfully", "returning", "subclasses", "misconfigured")
NEAR = ("returns", "string", "unhelpfully", "looooook")
CHAR_MODEL = ("encoder.layers=4", "context.layers=1", "context.dim=128", "context.dropout=0.2")
WORD_MODEL = (
    *("encoder.dim=128", "context.layers=1", "context.dim=128", "context.dropout=0.2"),
    # At the preset's SGD of rate 1 an RNN ends at a perplexity of millions.
    *("recipe.optimiser.type=adam", "recipe.optimiser.lr=0.002"),
)
CELL_EPOCHS = 2
PYDOC = "the English of Python's own docstrings"
WINDOWS = {"wide": (860, 320), "narrow": (380, 260)}  # pixels of a chart


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def trained(out: Path, *, data: Path, arch: str, epochs: int, overrides: Sequence[str]) -> Path:
    """The run `out`, trained to its end if it is not yet."""
    is_begun = (out / "run.json").is_file()
    if not is_begun or charlm.info(out).state != "finished":
        say(f"{out.name}: training")
        options = {"arch": arch, "epochs": epochs, "overrides": list(overrides), "device": "cpu"}
        charlm.train(data=data, out=out, resume=is_begun, **options)
    return out


# What a character CNN sees


def letter_shares(encoder: "CharCNN", letters: Sequence[int]) -> list[float]:
    """How many of the filters answer strongest to a window that holds each letter.

    A filter of width 3 gives a third to each letter of its window; what falls on padding is lost.
    """
    import torch
    from torch.nn import functional

    shares = [0.0] * len(letters)
    padded_L = functional.pad(torch.tensor(letters), (0, encoder.widest))
    with torch.no_grad():
        for filters in encoder.filters:
            width = filters.in_features // encoder.letters.embedding_dim
            windows_WF = encoder.letters(padded_L.unfold(0, width, 1)).flatten(1)
            for first in filters(windows_WF).argmax(dim=0).tolist():
                for place in range(first, min(first + width, len(letters))):
                    shares[place] += 1 / width
    return shares


def selective_filters(run: "LoadedRun") -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Number, width and substrings of filters whose best answers stand out most, two a width."""
    from charlm.insight.encoded_pieces import character_encoder
    from charlm.insight.filters import filter_matches

    encoder = character_encoder(run)
    first = 1
    for filters in encoder.filters:
        numbers = range(first, first + min(CANDIDATES, filters.out_features))
        first += filters.out_features
        if filters.in_features // encoder.letters.embedding_dim < 3:
            continue  # one or two letters say little
        found = [filter_matches(run, number, k=N_ASKED) for number in numbers]
        found.sort(
            key=lambda each: each.responses[-1] - sum(each.responses[:N_SUBSTRINGS]) / N_SUBSTRINGS
        )
        for each in found[:2]:
            yield each.number, each.width, each.substrings[:N_SUBSTRINGS]


def coloured_letters(run: "LoadedRun", word: str) -> str:
    from charlm.insight.encoded_pieces import character_encoder

    shares = letter_shares(character_encoder(run), run.inventory.spelling(word))
    spans = [
        f'<span style="background: rgba({COLOUR}, {0.7 * share / max(shares):.2f})" '
        f'title="{share:.0f} filters">{escape(letter)}</span>'
        for letter, share in zip(f"{{{word}}}", shares, strict=True)
    ]
    return f'<p class="letters">{"".join(spans)}</p>'


def cnn_parts(run: "LoadedRun") -> dict[str, str]:
    filters = [
        (f"{number}, of {width} letters", " ".join(substrings))
        for number, width, substrings in selective_filters(run)
    ]
    hoods = charlm.neighbours(list(NEAR), model=run.path, at="char-cnn,highway,output", k=5)
    near = [
        (hood.form, hood.tap, " ".join(each.word for each in hood.nearest) or "–") for hood in hoods
    ]
    return {
        "letters": "".join(coloured_letters(run, word) for word in WORDS),
        "filters": table_html(("filter", "answers most to"), filters),
        "near": table_html(("word", "at", "nearest"), near),
    }


# Why gates


def influences(run: "LoadedRun", sentences: Sequence[Sequence[str]]) -> list[float]:
    """Norm of the gradient of a prediction's nll by the vector of the word k places back, k = 0 ….

    The mean over windows of the text, each from the initial state. Nothing is learned: the
    gradient only says how much a change of that word's vector would change the prediction.
    """
    import numpy as np
    import torch

    from charlm.model.forms import FormTable
    from charlm.text.corpus.tokens import END, UNK

    inventory = run.inventory
    ids = [
        number
        for words in sentences
        for number in (*(inventory.word_ids.get(word, UNK) for word in words), END)
    ]
    length = WARM_UP + N_BACK
    starts = np.linspace(0, len(ids) - length - 1, N_WINDOWS).astype(int)
    ids_TB = torch.tensor([[ids[start + t] for start in starts] for t in range(length + 1)])
    table = FormTable(inventory, inventory.words)
    with torch.no_grad():
        vectors_VE = run.model.encoder(table.forms(np.arange(len(table))))
    x_TBE = vectors_VE[ids_TB[:-1]].clone().requires_grad_()
    h_TBH, _ = run.model.context(x_TBE, run.model.context.initial_state(N_WINDOWS))
    run.model.output.nll(h_TBH[-1], ids_TB[-1]).sum().backward()
    assert x_TBE.grad is not None
    norms_T = x_TBE.grad.norm(dim=2).mean(dim=1)
    return norms_T.flip(0)[:N_BACK].tolist()


def gates_part(by_cell: Mapping[str, Sequence[float]]) -> str:
    from charlm.insight.pictures.canvas import COLOURS, DASHES, blank

    figure, axes = blank(title="")
    for number, (cell, norms) in enumerate(by_cell.items()):
        shares = [norm / norms[0] for norm in norms]
        axes.semilogy(shares, DASHES[number], color=COLOURS[number], label=cell)
    axes.set(xlabel="words back", ylabel="influence, the last word's = 1")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0e}")
    axes.legend(frameon=False)
    rows = []
    for cell, norms in by_cell.items():
        factor = "none is left"
        if norms[FAR] > 0:
            factor = f"{(norms[-1] / norms[FAR]) ** (1 / (N_BACK - 1 - FAR)):.2f}"
        rows.append((cell, *(_shown(norms[k] / norms[0]) for k in SHOWN), factor))
    header = ("", *(f"{k} back" for k in SHOWN), f"factor a word from {FAR} on")
    alt = "Influence of the word 0 to 39 places back, in an RNN, an LSTM and a GRU; numbers below."
    table = f'<div class="scroll" tabindex="0">{table_html(header, rows)}</div>'
    return chart(figure, name="gates", alt=alt) + table


def _shown(share: float) -> str:
    return f"{share:.1e}".replace("-", "\N{MINUS SIGN}")  # at which no line is broken


# Lesioned highway layers


def perplexity(run: "LoadedRun", sentences: Sequence[str]) -> float:
    """By sentence, each from the initial state."""
    scores = charlm.Model(run).score_many(sentences)
    n_tokens = sum(len(score.log10_probs) for score in scores)
    return math.pow(10, -sum(score.log10_prob for score in scores) / n_tokens)


def lesioned_perplexities(run: "LoadedRun", sentences: Sequence[str]) -> list[float]:
    """Of the whole model, then with each highway layer's transform gates shut: it only carries."""
    import torch

    from charlm.insight.encoded_pieces import part_of
    from charlm.model.encoders.highway import HighwayEncoder

    encoder = part_of(run, HighwayEncoder, what="highway layers", wanted="highway")
    ppls = [perplexity(run, sentences)]
    for layer in encoder.layers:
        kept = {name: value.clone() for name, value in layer.gate.state_dict().items()}
        with torch.no_grad():
            layer.gate.weight.zero_()
            layer.gate.bias.fill_(-1e4)
        ppls.append(perplexity(run, sentences))
        layer.gate.load_state_dict(kept)
    return ppls


def lesions_part(ppls: Sequence[float]) -> str:
    from charlm.insight.pictures.bands import change
    from charlm.insight.pictures.canvas import BLUE, blank

    whole, *lesioned = ppls
    figure, axes = blank(title="")
    axes.bar(range(1, len(lesioned) + 1), [ppl - whole for ppl in lesioned], color=BLUE, width=0.6)
    axes.set_xticks(range(1, len(lesioned) + 1))
    axes.set(xlabel="layer whose gates are shut", ylabel="perplexity higher by")
    axes.set_axisbelow(True)
    rows = [("none", f"{whole:.2f}", "")]
    for layer, ppl in enumerate(lesioned, 1):
        rows.append((f"layer {layer}", f"{ppl:.2f}", change(100 * (ppl / whole - 1))))
    alt = "By how much the perplexity is higher with the gates of one layer shut; numbers below."
    header = ("gates shut", "perplexity", "")
    return chart(figure, name="lesions", alt=alt) + table_html(header, rows)


# The page


def chart(figure: "Figure", *, name: str, alt: str) -> str:
    """The figure for a wide window and for a narrow one, in the page's letters and colours."""
    from matplotlib.text import Text

    from charlm.insight.pictures.canvas import Drawn
    from charlm.insight.report.charts import LETTERS, POINTS_AN_INCH, inline_svg

    drawings = []
    for window, (width, height) in WINDOWS.items():
        figure.set_size_inches(width / POINTS_AN_INCH, height / POINTS_AN_INCH)
        for text in figure.findobj(Text):
            text.set_fontsize(LETTERS)
        drawings.append(inline_svg(figure, name=f"{name}-{window}", drawn=Drawn(figure, (), ())))
    return f'<div class="chart" role="img" aria-label="{escape(alt)}">{"".join(drawings)}</div>'


def page(parts: Mapping[str, str]) -> str:
    """The template with its parts filled in, in the report's style."""
    filled = {"style": page_style("charlm.insight.report"), **parts}
    return re.sub(r"<!--@(\w+)-->", lambda found: filled[found[1]], TEMPLATE.read_text("utf-8"))


def lesson(
    folder: Path, *, data: Path | None = None, epochs: int = 3, overrides: Sequence[str] = ()
) -> Path:
    """Train what is not there, measure, and write FOLDER/lesson.html; `overrides` are of all."""
    from charlm.run.stored_weights import load_run

    name = PYDOC if data is None else data.resolve().name
    if data is None:
        data = folder / "corpus"
        if not (data / SUMMARY).is_file():
            options = {"lower": True, "tokenise": "simple", "numbers": True}
            charlm.prep(corpus="pydoc", out=data, max_tokens=MAX_TOKENS, **options)
    words = [(*WORD_MODEL, f"context.type={cell}", *overrides) for cell in CELLS]
    cells = {
        cell: trained(
            folder / cell, data=data, arch="word-small", epochs=CELL_EPOCHS, overrides=own
        )
        for cell, own in zip(CELLS, words, strict=True)
    }
    options = {"arch": "char-small", "epochs": epochs, "overrides": (*CHAR_MODEL, *overrides)}
    char_run = load_run(trained(folder / "char-cnn", data=data, **options))
    text = (data / "valid.txt").read_text(encoding="utf-8").splitlines()
    sentences = [line.split() for line in text]
    say("measuring")
    parts = {
        "text": escape(name),
        **cnn_parts(char_run),
        "gates": gates_part(
            {cell: influences(load_run(run), sentences) for cell, run in cells.items()}
        ),
        "lesions": lesions_part(lesioned_perplexities(char_run, text[:N_SENTENCES])),
    }
    out = folder / "lesson.html"
    out.write_text(page(parts), encoding="utf-8")
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, metavar="FOLDER")
    try:
        sys.stdout.write(f"{lesson(parser.parse_args().folder)}\n")
    except KeyboardInterrupt:
        say("stopped; the same command goes on")
        sys.exit(130)
