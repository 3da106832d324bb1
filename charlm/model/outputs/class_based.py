"""The class-factored output of the RNNLM toolkit: first the word's class, then the word.

It differs from `hierarchical` in where the classes come from: words of similar frequency share one,
so that frequent words are in small classes, or a file of linguistic classes is read.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated, Literal

import torch

from charlm.errors import ConfigError
from charlm.model.contract import Encoder
from charlm.model.outputs.class_files import classes_of_words
from charlm.model.outputs.two_level import UNKNOWN, TwoLevel, TwoLevelOutput
from charlm.settings import STORED, Count, InputFile, Meaning, Settings
from charlm.text.vocabulary.vocabulary import Inventory


class ClassSoftmax(TwoLevelOutput):
    """P(w | h) = P(class | h) · P(w | class, h), Mikolov et al. (2011).

    Words are taken by falling count (`</s>` first, as in the toolkit), and a class is closed when
    the classes so far hold their share of the unigram mass (`mass`) or of its square root
    (`sqrt-mass`, the toolkit's later default). `classes=0` means ⌈√V⌉; where almost as many as
    words are asked for, there may be fewer. `file` names a file of classes instead
    (class_files.py); a run stores its content, never its path.

    Raises:
        ConfigError: more classes than words, or their number is not that of the file.
        DataError: a file that does not give each word one class.
    """

    def __init__(
        self,
        input_dim: int,
        inventory: Inventory,
        encoder: Encoder,
        *,
        classes: Annotated[
            Count, Meaning("number of word classes; 0: square root of the vocabulary size")
        ] = 0,
        assignment: Annotated[
            Literal["mass", "sqrt-mass"],
            Meaning("classes hold equal parts of the unigram mass, or of its square root"),
        ] = "sqrt-mass",
        file: Annotated[InputFile, Meaning("file of words and their classes, used instead")] = "",
    ) -> None:
        super().__init__()
        n_words = inventory.n_words
        if classes > n_words:
            raise ConfigError(
                f"option 'classes' of output 'class' is {classes}; "
                f"expected at most the {n_words} words"
            )
        self.is_from_file = bool(file)
        if file:
            class_of, n_classes = _from_file(file, inventory, classes)
        else:
            most = classes or math.ceil(math.sqrt(n_words))
            class_of = by_mass(inventory.counts, most, is_root=assignment == "sqrt-mass")
            n_classes = max(class_of) + 1
        # On the CPU even if the parameters are on the meta device: these are indices, not weights.
        cluster_V = torch.tensor(class_of, dtype=torch.int64, device="cpu")
        self.levels = TwoLevel(input_dim, cluster_V, n_clusters=n_classes)

    def settings_to_store(self, settings: Settings) -> Settings:
        """The settings with a file's number of classes, and without its path."""
        if not self.is_from_file:
            return settings
        return {**settings, "file": STORED, "classes": self.levels.clusters.out_features}


def _from_file(file: str, inventory: Inventory, classes: int) -> tuple[list[int], int]:
    """The class of each word and the number of classes; `classes` is the requested number."""
    if file == STORED:  # loaded with the weights; until then the classes are invalid
        if not classes:
            raise ConfigError(
                "option 'classes' of output 'class' is 0 where 'file' is 'stored'; expected their "
                "number; a run says both"
            )
        return [UNKNOWN] * inventory.n_words, classes
    class_of = classes_of_words(file, inventory.words)
    n_classes = max(class_of) + 1
    if classes not in (0, n_classes):
        raise ConfigError(
            f"option 'classes' of output 'class' is {classes} and {file} has {n_classes}; "
            "expected 0, for as many as it has"
        )
    return class_of, n_classes


def by_mass(counts: Sequence[int], n_classes: int, *, is_root: bool) -> list[int]:
    """The class of each word: at most `n_classes`, each with about the same share of the mass."""
    masses = [math.sqrt(count) if is_root else count for count in counts]
    total = math.fsum(masses)
    class_of, current = [], 0
    for mass in accumulate(masses):
        class_of.append(current)
        # At most one step per word, as in the toolkit: the word that exceeds the share is the last.
        if current < n_classes - 1 and mass * n_classes > (current + 1) * total:
            current += 1
    return class_of
