"""What pictures and the report show: runs, a text, and what was computed from them.

Everything is computed on first use, and once: a picture and the page show the same. What shows a
single model shows the first of the runs.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

from charlm.errors import ConfigError, DataError
from charlm.insight.encoded_pieces import character_encoder
from charlm.insight.filters import FilterMatches, filter_matches, require_filter
from charlm.insight.gates import GateProfile, TransformGate, gate_profile, transform_gates
from charlm.insight.report_options import ReportOptions
from charlm.insight.text_reading import ORDER, TextReading
from charlm.insight.vectors.projection import (
    NgramMap,
    WordMap,
    ngram_map,
    require_tap,
    word_map,
)
from charlm.interface.options import several
from charlm.run.folder import LOG, is_unfinished
from charlm.run.history import history_of
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import pick_device, set_threads
from charlm.scoring.evaluation.comparison.across import Table, table
from charlm.scoring.evaluation.comparison.compare_kn_options import CompareKnOptions
from charlm.scoring.evaluation.comparison.kneser_ney import baseline_name
from charlm.scoring.evaluation.comparison.runs import Contender, contenders
from charlm.scoring.evaluation.evaluate_options import states_of
from charlm.text.corpus.sentences import split_path


class Subject:
    """Runs to look at, the first of them in detail."""

    def __init__(self, options: ReportOptions) -> None:
        """Opens every run, so that a damaged one is noticed before any work."""
        set_threads(options.threads)
        self.options = options
        runs = several(options.runs) or [which_run(None, named="name a RUN")]
        self.paths = tuple(map(Path, runs))
        self.members: tuple[Contender, ...] = contenders(self.paths, taken=baseline_name(ORDER))
        self.names = tuple(member.name for member in self.members)

    @cached_property
    def run(self) -> LoadedRun:
        """The first run."""
        return load_run(self.paths[0], device=pick_device(self.options.device))

    def check(self) -> None:
        """Refuse a tap or filter that the first run lacks, or a missing text, before long work."""
        _ = self.across
        require_tap(self.run, self.options.at)
        if self.options.filter is not None:
            require_filter(self.run, self.options.filter)
        if self.options.data is not None:
            for split in ("train", self.options.split):
                split_path(self.options.data, split)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the runs, and about the text, if it has been read."""
        unfinished = (
            f"{each.name} is unfinished: what is shown are the best weights so far"
            for each in self.members
            if is_unfinished(each.path)
        )
        return (*unfinished, *(self.reading.notes if "reading" in self.__dict__ else ()))

    @property
    def gate_figures(self) -> dict[str, object] | None:
        """The figures of the gate between words and characters; None where there are none."""
        try:
            return self.gate.to_dict()
        except (ConfigError, DataError):
            return None

    @property
    def name(self) -> str:
        """The first run's name."""
        return self.names[0]

    @cached_property
    def histories(self) -> tuple[list[dict[str, Any]], ...]:
        """The epochs of each run.

        Raises:
            DataError: a log that is missing, empty or damaged.
        """
        histories = tuple(map(history_of, self.paths))
        for path, history in zip(self.paths, histories, strict=True):
            if not history:
                raise DataError(
                    f"{path / LOG}: no epoch; expected one or more; train the run further"
                )
        return histories

    @cached_property
    def across(self) -> Table | None:
        """The table across data sets, in the state in which the first run was trained, or None."""
        files = several(self.options.table)
        state, _ = states_of("both", self.members[0].learned_single_sentences)
        return table(files, state=state) if files else None

    @cached_property
    def ngrams(self) -> NgramMap:
        """Character n-grams in the plane."""
        character_encoder(self.run)  # refuses before anything is told
        if self.options.on_stage is not None:
            self.options.on_stage(f"{self.name}: encoding the character n-grams of its words")
        return ngram_map(self.run)

    @cached_property
    def words(self) -> WordMap:
        """Words in the plane."""
        return word_map(self.run, at=self.options.at)

    @cached_property
    def transform(self) -> tuple[TransformGate, ...]:
        """The transform gates of the highway layers."""
        return transform_gates(self.run)

    @cached_property
    def gate(self) -> GateProfile:
        """The gate between words and characters."""
        return gate_profile(self.run)

    @cached_property
    def filter(self) -> FilterMatches:
        """The substrings to which the chosen filter responds."""
        return filter_matches(self.run, self.options.filter)

    @cached_property
    def reading(self) -> TextReading:
        """The text under all runs and Kneser–Ney.

        Raises:
            ConfigError: no corpus directory was given.
            DataError: there is no such text in it.
        """
        if self.options.data is None:
            raise ConfigError(
                "--data: not given; expected the corpus directory with train.txt and "
                f"{self.options.split}.txt, which perplexities need"
            )
        split_path(self.options.data, self.options.split)  # before anything takes long
        options = CompareKnOptions(
            self.options.data,
            order=ORDER,
            split=self.options.split,
            device=self.options.device,
            threads=self.options.threads,
            on_stage=self.options.on_stage,
        )
        return TextReading(options, self.members)
