"""The model card: a readable description of a run, kept beside its weights."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from charlm.run.folder import CARD, RunInfo, is_by_sentence
from charlm.run.history import PRETRAINING, best_record, total_seconds
from charlm.run.stored_weights import kept_ppl
from charlm.text.io.files import write_bytes
from charlm.text.perplexity.perplexity import shown_ppl
from charlm.text.vocabulary.vocabulary import Inventory


def save_card(
    folder: Path,
    info: RunInfo,
    *,
    history: Sequence[dict[str, Any]],
    inventory: Inventory,
    parameters: dict[str, int],
) -> None:
    """Write card.md, atomically."""
    best = best_record(history)
    recipe = info.settings["recipe"]
    ppl = best["valid_ppl"]
    said = ", of one side alone (pre-training)" if PRETRAINING in best else ""
    if recipe.get("temperature") == "valid":
        ppl, temperature = kept_ppl(folder, ppl=best["valid_ppl"])
        if temperature != 1.0:
            before = f"{shown_ppl(best['valid_ppl'])} without"
            said = f", with a softmax temperature of {temperature:.2f} set on it ({before})"
    carried = f"state carried over {recipe['batch_size']} streams"
    reading = "sentence by sentence" if is_by_sentence(info.settings) else carried
    lines = [
        f"# {info.arch} on {info.corpus['name']}",
        "",
        f"Validation perplexity {shown_ppl(ppl)} after epoch {best['epoch']}{said}, {reading}, "
        "fp32. For test figures run `charlm eval`.",
        "",
        "| what | value |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in _rows(info, history, inventory, parameters)),
        "",
        "![learning curve](curve.png)",
        "",
    ]
    write_bytes(folder / CARD, "\n".join(lines).encode(errors="backslashreplace"))


def _rows(
    info: RunInfo,
    history: Sequence[dict[str, Any]],
    inventory: Inventory,
    parameters: dict[str, int],
) -> list[tuple[str, str]]:
    total = sum(parameters.values())
    by_part = ", ".join(f"{name} {count:,}" for name, count in parameters.items())
    rules = shown_options(inventory.normalisation.in_short())
    versions = {"charlm": info.charlm, **info.versions}
    command = shlex.join(info.command).replace("|", "\\|")  # can be pasted into a shell
    init, speller = info.init or {}, info.speller or {}
    n_characters = inventory.n_characters_as_published
    begun = f"{init.get('run')}, its model {str(init.get('sha256'))[:12]}"
    return [
        ("parameters", f"{total:,} ({by_part})"),
        ("words", f"{inventory.n_words:,}"),
        ("characters", f"{n_characters:,}, with 5 markers, as Kim et al. count"),
        ("train text", shown_text(info.corpus["train"], max_tokens=info.corpus.get("max_tokens"))),
        ("valid text", shown_text(info.corpus["valid"])),
        ("text rules", rules),
        ("vocabulary", info.vocabulary_sha256[:12]),
        # A preset's name does not tell what --set made of it, nor a script's name what it did.
        *((part, shown_setting(info.settings[part])) for part in ("encoder", "context", "output")),
        ("recipe", shown_options(info.settings["recipe"])),
        ("seed, threads", f"{info.seed}, {info.threads}"),
        ("precision, device", f"{info.precision}, {info.device}"),
        *([("begun from", begun)] if init else []),
        *([("speller", _speller(speller))] if speller else []),
        ("trained", f"{len(history)} of {info.settings['recipe']['epochs']} epochs"),
        ("time", f"{total_seconds(history):,.0f} s"),
        ("versions", ", ".join(f"{k} {v}" for k, v in versions.items())),
        ("command", f"`{command}`"),
    ]


def _speller(speller: dict[str, Any]) -> str:
    return f"of {speller['n_types']:,} words of {speller['text']} outside the vocabulary"


def shown_text(text: Mapping[str, Any], *, max_tokens: int | None = None) -> str:
    """How much of a text was read, and its hash, which is always that of the whole text."""
    counts = f"{text['n_sentences']:,} sentences, {text['n_tokens']:,} tokens"
    if max_tokens:
        counts += f": the first, at most {max_tokens:,} (--max-tokens), of the text of"
    else:
        counts += ","
    return f"{counts} sha256 {text['sha256'][:12]}"


def shown_options(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {shown_setting(value)}" for name, value in options.items())


def shown_setting(value: object) -> str:
    """A part's settings on one line: its type, then its options in brackets."""
    if isinstance(value, dict):
        inner = shown_options({key: each for key, each in value.items() if key != "type"})
        kind = str(value.get("type", ""))
        return f"{kind} ({inner})" if inner else kind
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "[]"
    return str(value)
