"""A process of a training that is not the first: it is told what to do, and writes nothing.

It reads vocabulary, encoded text and checkpoint from the run directory, so all machines must see
that folder; the corpus they need not.
"""

from dataclasses import replace

import numpy as np

from charlm.errors import DataError
from charlm.run.folder import ENCODED, VOCABULARY
from charlm.runtime import pick_device, place_of_process, set_threads
from charlm.text.inventory import load_inventory
from charlm.training.loop import Trainer
from charlm.training.ranks import Ranks
from charlm.training.recipe import build_recipe
from charlm.training.session import Begun, train_on, trainer_of
from charlm.training.watcher import Silence


def follow(ranks: Ranks, *, device: str) -> tuple[Trainer, Begun]:
    """Train beside the first process until it ends.

    Raises:
        DataError: this machine does not see the run directory.
        RankLostError: another process is gone; the first one says why.
    """
    begun: Begun = ranks.told()
    plan = replace(begun.plan, device=pick_device(place_of_process().device_name(device)))
    set_threads(plan.threads)
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
    train_on(trainer, begun, check_lock=lambda: None, deadline=None, watcher=Silence())
    return trainer, begun
