"""Settings that were asked for and change nothing, since another one decides.

They are told and not refused: a preset's own default may stand beside what makes it idle, and a run
that was trained so is to load.
"""

from collections.abc import Iterator

from charlm.settings import Settings


def idle_settings(changes: Settings, settings: Settings, *, path: str = "") -> Iterator[str]:
    """A note on each of `changes` that does nothing in `settings`, which have all defaults."""
    for name, value in changes.items():
        inner = settings.get(name)
        if isinstance(value, dict) and isinstance(inner, dict):
            yield from idle_settings(value, inner, path=f"{path}{name}.")
        elif reason := _why_idle(name, settings):
            yield f"{path}{name}={value} does nothing: {reason.format(path)}"


def _why_idle(option: str, part: Settings) -> str:
    """Why an option of a part, or of the recipe, does nothing; {} is the part. Empty: it does."""
    if option == "dropout" and part.get("layers") == 1 and part.get("output_dropout", -1) >= 0:
        return f"behind the only layer {{}}output_dropout={part['output_dropout']} stands"
    if option == "dim" and part.get("layers") == 1 and part.get("last_dim"):
        return f"the only layer is the last, whose width is {{}}last_dim={part['last_dim']}"
    if option == "value" and part.get("kind") == "adaptive":
        return "the gate is learned; {}kind=fixed has this one"
    if option == "bptt" and part["batching"]["type"] == "sentences":
        return "sentences are read whole, and {}batching.type is sentences"
    if option == "assignment" and part.get("file"):
        return "a file says the words' classes"
    return ""
