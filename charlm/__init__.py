"""The public names of charlm: one function for each command, and the classes that they need.

A name is looked up in its module when it is first used, so `import charlm` is cheap and
`from charlm import train` is what loads torch. Names that are not listed here may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from charlm.api.load_model import load
    from charlm.api.loaded_models import (
        ExportedModel,
        LoadedModel,
        NgramLanguageModel,
        SentenceScore,
    )
    from charlm.api.next_words import next_words
    from charlm.api.trained_model import Model
    from charlm.errors import CharlmError, ConfigError, DataError, TrainingError
    from charlm.insight.info import info
    from charlm.insight.report.report import report
    from charlm.insight.vectors.neighbours import neighbours
    from charlm.nbest.scorers import FunctionScorer
    from charlm.ngram.baseline import ngram_baseline
    from charlm.scoring.evaluation.comparison.across import table
    from charlm.scoring.evaluation.comparison.compare_kn import compare_kn
    from charlm.scoring.evaluation.evaluate import evaluate
    from charlm.scoring.evaluation.mix import mix
    from charlm.scoring.evaluation.surprisal.minimal_pairs import minimal_pairs
    from charlm.scoring.evaluation.surprisal.word_surprisal import surprisal
    from charlm.scoring.export.export import export
    from charlm.scoring.likelihood.sampling import sample
    from charlm.scoring.rescoring.score import score
    from charlm.scoring.rescoring.serve import serve
    from charlm.scoring.rescoring.tune import tune
    from charlm.text.corpus.prepare import prep
    from charlm.text.vocabulary.build_vocabulary import vocab
    from charlm.training.train import train
    from charlm.version import __version__


__all__ = [
    "CharlmError",
    "ConfigError",
    "DataError",
    "ExportedModel",
    "FunctionScorer",
    "LoadedModel",
    "Model",
    "NgramLanguageModel",
    "SentenceScore",
    "TrainingError",
    "__version__",
    "compare_kn",
    "evaluate",
    "export",
    "info",
    "load",
    "minimal_pairs",
    "mix",
    "neighbours",
    "next_words",
    "ngram_baseline",
    "prep",
    "report",
    "sample",
    "score",
    "serve",
    "surprisal",
    "table",
    "train",
    "tune",
    "vocab",
]

_HOMES = {
    "CharlmError": "charlm.errors",
    "ConfigError": "charlm.errors",
    "DataError": "charlm.errors",
    "ExportedModel": "charlm.api.loaded_models",
    "FunctionScorer": "charlm.nbest.scorers",
    "LoadedModel": "charlm.api.loaded_models",
    "Model": "charlm.api.trained_model",
    "NgramLanguageModel": "charlm.api.loaded_models",
    "SentenceScore": "charlm.api.loaded_models",
    "TrainingError": "charlm.errors",
    "compare_kn": "charlm.scoring.evaluation.comparison.compare_kn",
    "evaluate": "charlm.scoring.evaluation.evaluate",
    "export": "charlm.scoring.export.export",
    "info": "charlm.insight.info",
    "load": "charlm.api.load_model",
    "minimal_pairs": "charlm.scoring.evaluation.surprisal.minimal_pairs",
    "mix": "charlm.scoring.evaluation.mix",
    "neighbours": "charlm.insight.vectors.neighbours",
    "next_words": "charlm.api.next_words",
    "ngram_baseline": "charlm.ngram.baseline",
    "prep": "charlm.text.corpus.prepare",
    "report": "charlm.insight.report.report",
    "sample": "charlm.scoring.likelihood.sampling",
    "score": "charlm.scoring.rescoring.score",
    "serve": "charlm.scoring.rescoring.serve",
    "surprisal": "charlm.scoring.evaluation.surprisal.word_surprisal",
    "table": "charlm.scoring.evaluation.comparison.across",
    "train": "charlm.training.train",
    "tune": "charlm.scoring.rescoring.tune",
    "vocab": "charlm.text.vocabulary.build_vocabulary",
    "__version__": "charlm.version",
}

# Likely guesses for functions of another name: the command's name, or the American spelling.
_GUESSES = {"eval": "evaluate", "neighbors": "neighbours", "next": "next_words", "nn": "neighbours"}


def __getattr__(name: str) -> object:
    if name == "decoders":
        return import_module("charlm.decoders")
    if name not in _HOMES:
        hint = f"; it is charlm.{_GUESSES[name]}" if name in _GUESSES else ""
        raise AttributeError(f"module 'charlm' has no attribute {name!r}{hint}")
    from charlm.runtime import prepare_torch, with_own_threads

    prepare_torch()  # before any of them imports torch
    found = getattr(import_module(_HOMES[name]), name)
    if isinstance(found, type | str):
        return found
    from charlm.arguments import public_function

    return public_function(with_own_threads(found), module="charlm")


def __dir__() -> list[str]:
    return list(__all__)
