"""A process of a training that is not the first: it is told what to do, and writes nothing.

It reads vocabulary, encoded text and checkpoint from the run directory, so all machines must see
that folder; the corpus they need not.
"""

import math
from dataclasses import replace

import numpy as np
import torch

from charlm.errors import DataError
from charlm.run.folder import ENCODED, VOCABULARY
from charlm.runtime import set_threads
from charlm.text.vocabulary.vocabulary import load_inventory
from charlm.training.ranks import Ranks
from charlm.training.recipe.recipe import build_recipe
from charlm.training.session import Begun, train_on, trainer_of
from charlm.training.watcher import Silence


def follow(ranks: Ranks, begun: Begun, *, device: torch.device) -> None:
    """Train beside the first process until it ends.

    Raises:
        DataError: this machine does not see the run directory.
        RankLostError: another process is gone; the first one says why.
    """
    plan = replace(begun.plan, device=device)
    set_threads(plan.threads)  # which may be those of a run that is gone on with
    texts = {}
    for split, text in begun.texts.items():
        path = (plan.folder / ENCODED / split).with_suffix(".ids")
        if not path.is_file():
            raise DataError(
                f"{path}: process {ranks.rank} of {ranks.size} does not see it; expected the run "
                "directory that the first process writes; give an --out that all machines share"
            )
        texts[split] = replace(text, ids=np.memmap(path, dtype="<i4", mode="r"))
    inventory = load_inventory(plan.folder / VOCABULARY)
    recipe, _ = build_recipe(plan.settings["recipe"])
    trainer, _ = trainer_of(plan, inventory, recipe=recipe, texts=texts, ranks=ranks)
    train_on(trainer, begun, check_lock=lambda: None, deadline=math.inf, watcher=Silence())
