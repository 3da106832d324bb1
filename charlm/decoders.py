"""Public names for decoders: states, models for the decoders of other tools, and CTC search.

PyctcdecodeLM is for pyctcdecode, FlashlightLM for flashlight-text and torchaudio, EspnetScorer for
ESPnet. `ctc_beam_search` is charlm's own decoder, and MixedModel mixes models for all of them.
`charlm.load` returns the models. A name is looked up when it is first used, so importing this
module loads nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from charlm.scoring.decoding.ctc_search import Transcript, ctc_beam_search
    from charlm.scoring.decoding.espnet_scorer import EspnetScorer
    from charlm.scoring.decoding.flashlight_lm import FlashlightLM
    from charlm.scoring.decoding.mixed_model import MixedModel
    from charlm.scoring.decoding.pyctcdecode_lm import PyctcdecodeLM
    from charlm.scoring.decoding.states import State, StatefulModel, Step

__all__ = [
    "EspnetScorer",
    "FlashlightLM",
    "MixedModel",
    "PyctcdecodeLM",
    "State",
    "StatefulModel",
    "Step",
    "Transcript",
    "ctc_beam_search",
]

_PACKAGE = "charlm.scoring.decoding"
_HOMES = {
    "EspnetScorer": "espnet_scorer",
    "FlashlightLM": "flashlight_lm",
    "MixedModel": "mixed_model",
    "PyctcdecodeLM": "pyctcdecode_lm",
    "State": "states",
    "StatefulModel": "states",
    "Step": "states",
    "Transcript": "ctc_search",
    "ctc_beam_search": "ctc_search",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'charlm.decoders' has no attribute {name!r}")
    from charlm.runtime import prepare_torch

    prepare_torch()  # before any of them imports torch
    found = getattr(import_module(f"{_PACKAGE}.{_HOMES[name]}"), name)
    if isinstance(found, type):
        return found
    from charlm.interface.arguments import public_function

    return public_function(found, module="charlm.decoders")


def __dir__() -> list[str]:
    return list(__all__)
