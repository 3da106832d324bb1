"""`charlm train --list`: the presets by paper, or all settings of one.

A pipe and a wide terminal get one line for each; in a narrow terminal the words stand below the
figures.
"""

import json
import sys
from collections.abc import Mapping
from itertools import groupby
from textwrap import wrap
from typing import Any

from charlm.cli.printing import output
from charlm.errors import ConfigError
from charlm.interface.options import fields_of
from charlm.training.train_options import TrainOptions

HELP = (
    "Show the presets, by paper; with a NAME all settings of that preset, as --set, --epochs and "
    "the like change them, with ranges and meanings, and the parts that can stand instead of its "
    "own. Nothing is trained."
)
OF_SETTINGS = ("epochs", "batch_size", "bptt", "lr", "purpose", "overrides")
COLUMNS = "{:<31}{:>12}{:>11}{:>9}"
HEADER = COLUMNS.format("preset", "parameters", "published", "charlm")
TIME = "  {:<33}  "
LEAST_WORDS = 50  # room in a line, below which words stand in lines of their own
NOTE = """\
parameters and test perplexities on the Penn Treebank (10,000 words); - : not published, or not \
trained to its end here
how each was measured: recipes/ptb/README.md; all settings of one: charlm train --list NAME"""
BY_SENTENCE = "; perplexities by sentence: they do not compare with the others"


def show_presets(name: str, *, given: Mapping[str, Any]) -> None:
    """Print all presets, or the settings of a named one.

    Raises:
        ConfigError: no such preset, a change that makes no model, or an option without effect.
    """
    as_json = bool(given.get("as_json"))
    taken = {*OF_SETTINGS} if name else set()
    for option in fields_of(TrainOptions):
        if option.name in given.keys() - taken:
            instead = "" if name else ", or name a preset (--list NAME)"
            beside = f"--list {name}".strip()
            flag = option.opt.flag(option.name)
            raise ConfigError(f"{flag}: says nothing beside {beside}; drop it{instead}")
    if name:
        _show_settings(name, given=given, as_json=as_json)
        return
    from charlm.presets.listing import preset_facts

    presets = preset_facts()
    if as_json:
        output.write_json([each.to_dict() for each in presets])
        return
    _write_preset(HEADER, "time", "model")
    for (paper, state), group in groupby(presets, lambda each: (each.paper, each.state)):
        output.write("\n" + _folded(f"{paper}{BY_SENTENCE if state == 'sentence' else ''}"))
        for each in group:
            ppls = (output.shown_number(ppl, ".2f") for ppl in (each.published, each.measured))
            figures = COLUMNS.format(each.name, f"{each.n_parameters:,}", *ppls)
            _write_preset(figures, each.time, each.model)
    output.write("\n" + "\n".join(map(_folded, NOTE.splitlines())))


def _write_preset(figures: str, time: str, model: str) -> None:
    row = figures + TIME.format(time or output.NOTHING)
    if _room() >= len(row) + LEAST_WORDS:
        output.write(row + _folded(model, indent=len(row)))
    else:
        output.write(f"{figures}\n    {_folded(f'{time}; {model}'.removeprefix('; '), indent=4)}")


def _folded(words: str, *, indent: int = 0) -> str:
    """Words in as many lines as a terminal needs, all but the first indented."""
    width = max(1, _room() - indent)
    lines = wrap(words, width, break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines)


def _room() -> int:
    return output.terminal_width() or sys.maxsize


def _show_settings(name: str, *, given: Mapping[str, Any], as_json: bool) -> None:
    from charlm.presets import preset
    from charlm.training.planning.plan import requested_changes
    from charlm.training.planning.preset_settings import (
        all_settings,
        described_settings,
        part_names,
    )

    asked = {option: given[option] for option in OF_SETTINGS if option in given}
    changes = requested_changes(TrainOptions(data="", **asked), preset(name))
    if as_json:
        output.write_json(all_settings(name, changes))
        return
    settings = described_settings(name, changes)
    rows = [(f"{each.name}={_as_set(each.value)}", each.values, each.meaning) for each in settings]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    indent = sum(widths) + 4
    for setting, values, meaning in rows:
        row = f"{setting:<{widths[0]}}  {values:<{widths[1]}}  "
        if _room() >= indent + LEAST_WORDS:
            output.write(row + _folded(meaning, indent=indent))
        else:
            output.write(f"{setting}  {values}".rstrip() + f"\n    {_folded(meaning, indent=4)}")
    output.say("parts for --set; one of another type starts from its own defaults:")
    for path, names in part_names().items():
        output.say(f"{path}.type: {', '.join(names)}")


def _as_set(value: Any) -> str:
    """A value as --set takes it, without blanks."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
