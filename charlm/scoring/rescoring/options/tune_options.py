"""The options of `charlm tune` beyond those of all rescoring and of the search."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from charlm.errors import ConfigError
from charlm.interface.options import Opt, several
from charlm.nbest.tuning.search_options import SearchOptions, parse_ranges
from charlm.scoring.rescoring.options.rescoring_options import (
    REFERENCES,
    ListOptions,
    check_references,
)
from charlm.text.io.paths import require_place


@dataclass(frozen=True)
class TuneOptions(SearchOptions, ListOptions):
    """On which lists weights are searched, and where they are written."""

    lists: Annotated[
        str | Path,
        Opt(
            "N-best lists or lattices with references: a file, a folder where the format is one, "
            "or - for standard input.",
            metavar="DEV",
            is_argument=True,
        ),
    ]
    _: KW_ONLY
    refs: Annotated[str | Path | Sequence[str | Path], REFERENCES]
    out: Annotated[
        str | Path | None,
        Opt("File to write the weights to, for `charlm score --weights`; none if not given."),
    ] = None

    def check(self) -> None:
        from charlm.nbest.ranking.weights import parse_weights  # which loads NumPy

        super().check()
        check_references(several(self.refs), metric=self.metric)
        if not several(self.refs):
            raise ConfigError("--refs: found no file; expected that of the references; name it")
        require_place(self.out, option="--out")
        if self.folds == 1:
            raise ConfigError("--folds 1: leaves no list to tune on; expected 0, or 2 or more")
        names = self.tuned_names
        said = [("--weight", name) for name in parse_weights(None, self.weight).values]
        said += [("--range", name) for name in parse_ranges(self.ranges)]
        for option, name in said:
            if names and name not in names:
                raise ConfigError(
                    f"{option} {name}: --tuned {','.join(names)} leaves it out, and it would count "
                    "nothing; expected a feature that is tuned; add it there, or drop it"
                )
