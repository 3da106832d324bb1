"""The public names of charlm: one function for each command, and the classes that they need.

A name is looked up in its module when it is first used, so `import charlm` is cheap and
`from charlm import train` is what loads torch. Names that are not listed here may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from charlm.api.load_model import load as load
    from charlm.api.loaded_models import ExportedModel as ExportedModel
    from charlm.api.loaded_models import LoadedModel as LoadedModel
    from charlm.api.loaded_models import NgramLanguageModel as NgramLanguageModel
    from charlm.api.loaded_models import SentenceScore as SentenceScore
    from charlm.api.next_words import next_words as next_words
    from charlm.api.trained_model import Model as Model
    from charlm.errors import CharlmError as CharlmError
    from charlm.errors import ConfigError as ConfigError
    from charlm.errors import DataError as DataError
    from charlm.errors import TrainingError as TrainingError
    from charlm.insight.info import info as info
    from charlm.insight.report.report import report as report
    from charlm.insight.vectors.neighbours import neighbours as neighbours
    from charlm.nbest.combination.combine import combine as combine
    from charlm.nbest.scorers import FunctionScorer as FunctionScorer
    from charlm.ngram.baseline import ngram_baseline as ngram_baseline
    from charlm.scoring.evaluation.comparison.across import table as table
    from charlm.scoring.evaluation.comparison.compare_kn import compare_kn as compare_kn
    from charlm.scoring.evaluation.evaluate import evaluate as evaluate
    from charlm.scoring.evaluation.mix import mix as mix
    from charlm.scoring.evaluation.surprisal.minimal_pairs import minimal_pairs as minimal_pairs
    from charlm.scoring.evaluation.surprisal.word_surprisal import surprisal as surprisal
    from charlm.scoring.export.export import export as export
    from charlm.scoring.likelihood.sampling.sampling import sample as sample
    from charlm.scoring.rescoring.score import score as score
    from charlm.scoring.rescoring.serve import serve as serve
    from charlm.scoring.rescoring.tune import tune as tune
    from charlm.text.corpus.preparation.prepare import prep as prep
    from charlm.text.vocabulary.build_vocabulary import vocab as vocab
    from charlm.training.train import train as train
    from charlm.version import __version__ as __version__

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
    "__version__": "charlm.version",
    "combine": "charlm.nbest.combination.combine",
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
    "prep": "charlm.text.corpus.preparation.prepare",
    "report": "charlm.insight.report.report",
    "sample": "charlm.scoring.likelihood.sampling.sampling",
    "score": "charlm.scoring.rescoring.score",
    "serve": "charlm.scoring.rescoring.serve",
    "surprisal": "charlm.scoring.evaluation.surprisal.word_surprisal",
    "table": "charlm.scoring.evaluation.comparison.across",
    "train": "charlm.training.train",
    "tune": "charlm.scoring.rescoring.tune",
    "vocab": "charlm.text.vocabulary.build_vocabulary",
}
__all__ = list(_HOMES)

# Likely guesses for functions of another name: the command's name, the American spelling, or the
# name in charlm 0.1.
_GUESSES = {
    "build_vocabulary": "vocab",
    "eval": "evaluate",
    "neighbors": "neighbours",
    "next": "next_words",
    "nn": "neighbours",
    "prepare": "prep",
}


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
    from charlm.interface.arguments import public_function

    return public_function(with_own_threads(found), module="charlm")


def __dir__() -> list[str]:
    return list(__all__)
