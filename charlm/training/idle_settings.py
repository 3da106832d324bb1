"""Settings that the user asked for but that have no effect, because of another setting.

They are reported and not refused: a preset may itself contain a setting that another one makes
idle, and a run that was trained this way must load.
"""

from collections.abc import Iterator

from charlm.settings import Settings


def idle_settings(changes: Settings, settings: Settings, *, path: str = "") -> Iterator[str]:
    """A note on each of `changes` that has no effect in `settings`, which have all defaults."""
    for name, value in changes.items():
        inner = settings.get(name)
        if isinstance(value, dict) and isinstance(inner, dict):
            yield from idle_settings(value, inner, path=f"{path}{name}.")
        elif reason := _why_idle(name, settings):
            yield f"{path}{name}={value} does nothing: {reason.format(path)}"


def _why_idle(option: str, part: Settings) -> str:
    """Why an option of a part or the recipe has no effect ({}: the part's path); "" if it has."""
    if option == "dropout" and part.get("layers") == 1 and part.get("output_dropout", -1) >= 0:
        return f"behind the only layer {{}}output_dropout={part['output_dropout']} stands"
    if option == "dim" and part.get("layers") == 1 and part.get("last_dim"):
        return f"the only layer is the last, whose width is {{}}last_dim={part['last_dim']}"
    if option == "value" and part.get("kind") == "adaptive":
        return "the gate is learned; {}kind=fixed has this one"
    if option == "bptt" and part["batching"]["type"] == "sentences":
        return "sentences are read whole, and {}batching.type is sentences"
    if option == "temporal_penalty" and part["bptt"] == 1 and part["batching"]["type"] == "streams":
        return "a step reads one word of each stream, so that nothing changes within it: {}bptt=1"
    if option == "assignment" and part.get("file"):
        return "a file says the words' classes"
    return ""
