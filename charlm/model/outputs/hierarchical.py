"""The two-level softmax over clusters of equal size: first the word's cluster, then the word in it.

The clusters are drawn once and stored with the weights, since a seed does not draw the same ones
everywhere.
"""

import math
from typing import Annotated, Literal

import torch

from charlm.errors import ConfigError
from charlm.model.contract import Encoder
from charlm.model.outputs.two_level import TwoLevel, TwoLevelOutput
from charlm.settings import Count, Meaning
from charlm.text.vocabulary.vocabulary import Inventory


class HierarchicalSoftmax(TwoLevelOutput):
    """P(w | h) = P(cluster | h) · P(w | cluster, h), eq. 10 of Kim et al. (2016).

    The ⌈√V⌉ clusters (with `clusters=0`) have about equal size, and are random or hold words of
    similar frequency.

    Raises:
        ConfigError: more clusters than words.
    """

    def __init__(
        self,
        input_dim: int,
        inventory: Inventory,
        encoder: Encoder,
        *,
        clusters: Annotated[
            Count, Meaning("number of word clusters; 0: square root of the vocabulary size")
        ] = 0,
        assignment: Annotated[
            Literal["random", "frequency"],
            Meaning("how words are put into clusters: at random or by frequency"),
        ] = "random",
    ) -> None:
        super().__init__()
        n_words = inventory.n_words
        n_clusters = clusters or math.ceil(math.sqrt(n_words))
        if n_clusters > n_words:
            raise ConfigError(
                f"option 'clusters' of output 'hierarchical' is {n_clusters}; "
                f"expected at most the {n_words} words"
            )
        # Built on the CPU even if the parameters are on the meta device: these are indices, not
        # weights. In that case nothing is drawn either, since the clusters come with the weights.
        has_memory = torch.get_default_device().type != "meta"
        with torch.device("cpu"):
            is_drawn = assignment == "random" and has_memory
            order = torch.randperm(n_words) if is_drawn else torch.arange(n_words)
            cluster_V = torch.empty(n_words, dtype=torch.int64)
            for cluster, part in enumerate(order.tensor_split(n_clusters)):
                cluster_V[part] = cluster
        self.levels = TwoLevel(input_dim, cluster_V, n_clusters=n_clusters)
