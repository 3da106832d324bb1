"""The two-level softmax: first the word's cluster, then the word within it.

The clusters are drawn once and stored with the weights: a seed does not draw the same ones
everywhere.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import ConfigError, DataError
from charlm.model.contract import Encoder, Output
from charlm.settings import Count
from charlm.text.inventory import Inventory


class HierarchicalSoftmax(Output):
    """P(w | h) = P(cluster | h) · P(w | cluster, h), eq. 10 of Kim et al. (2016).

    ⌈√V⌉ clusters of about equal size (`clusters=0`), random, or of words of like frequency.

    Raises:
        ConfigError: more clusters than words.
    """

    members_CM: Tensor  # word ids of a cluster, -1 behind its last
    cluster_V: Tensor
    place_V: Tensor  # a word's place within its cluster

    def __init__(
        self,
        input_dim: int,
        inventory: Inventory,
        encoder: Encoder,
        *,
        clusters: Count = 0,
        assignment: Literal["random", "frequency"] = "random",
    ) -> None:
        super().__init__()
        n_words = inventory.n_words
        n_clusters = clusters or math.ceil(math.sqrt(n_words))
        if n_clusters > n_words:
            raise ConfigError(
                f"option 'clusters' of output 'hierarchical' is {n_clusters}; "
                f"expected at most the {n_words} words"
            )
        self.clusters = nn.Linear(input_dim, n_clusters)
        self.words = nn.Linear(input_dim, n_words)
        self._store_clusters(n_words, n_clusters, assignment)

    def _store_clusters(self, n_words: int, n_clusters: int, assignment: str) -> None:
        # Built on the CPU even where the parameters are on the meta device: indices, not weights.
        # There a caller's generator is left alone, too: the weights' file brings the clusters.
        is_drawn = assignment == "random" and not self.words.weight.is_meta
        with torch.device("cpu"):
            order = torch.randperm(n_words) if is_drawn else torch.arange(n_words)
            parts = order.tensor_split(n_clusters)
            members_CM = torch.full((n_clusters, len(parts[0])), -1)
            cluster_V, place_V = torch.empty(2, n_words, dtype=torch.int64).unbind()
            for cluster, part in enumerate(parts):
                members_CM[cluster, : len(part)] = part
                cluster_V[part] = cluster
                place_V[part] = torch.arange(len(part))
        self.register_buffer("members_CM", members_CM)
        self.register_buffer("cluster_V", cluster_V)
        self.register_buffer("place_V", place_V)

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """Negative log-probability of each word in nats, shape (N,), fp32; 0 where it is -1."""
        scored_N = words_N >= 0
        h_NH, words = h_NH[scored_N], words_N[scored_N]
        clusters = self.cluster_V[words]
        cluster_nll = functional.cross_entropy(
            self.clusters(h_NH).float(), clusters, reduction="none"
        )
        word_nll = self._nll_within(h_NH, clusters, self.place_V[words])
        result_N = torch.zeros(words_N.shape, device=h_NH.device)
        return result_N.masked_scatter(scored_N, cluster_nll + word_nll)

    def _nll_within(self, h_NH: Tensor, clusters_N: Tensor, places_N: Tensor) -> Tensor:
        """−log P(word | cluster): positions grouped by cluster, one batched product over groups."""
        groups_G, group_N, counts_G = clusters_N.unique(return_inverse=True, return_counts=True)
        if not len(groups_G):
            return h_NH.new_zeros(0, dtype=torch.float32)
        order_N = group_N.argsort(stable=True)
        firsts_G = counts_G.cumsum(0) - counts_G
        row_N = torch.empty_like(order_N)
        row_N[order_N] = torch.arange(len(order_N), device=h_NH.device) - firsts_G[group_N[order_N]]
        grouped_GKH = h_NH.new_zeros(len(groups_G), int(counts_G.max()), h_NH.shape[1])
        grouped_GKH = grouped_GKH.index_put((group_N, row_N), h_NH)
        scores_GKM = self._scores_within(grouped_GKH, groups_G)
        return functional.cross_entropy(scores_GKM[group_N, row_N], places_N, reduction="none")

    def _scores_within(self, h_GKH: Tensor, clusters_G: Tensor) -> Tensor:
        """Scores of the words of a cluster, shape (G, K, M); minus infinity behind the last."""
        members_GM = self.members_CM[clusters_G]
        rows_GM = members_GM.clamp(min=0)
        weight_GMH = functional.embedding(rows_GM, self.words.weight)
        bias_GM = self.words.bias[rows_GM]
        scores_GKM = (h_GKH @ weight_GMH.transpose(1, 2)).float() + bias_GM[:, None]
        return scores_GKM.masked_fill((members_GM < 0)[:, None], -torch.inf)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        """Log-probabilities of all words in nats, shape (N, V), fp32."""
        cluster_NC = functional.log_softmax(self.clusters(h_NH).float(), dim=-1)
        scores_NV: Tensor = self.words(h_NH).float()
        members_CM = self.members_CM
        scores_NCM = scores_NV[:, members_CM.clamp(min=0)].masked_fill(members_CM < 0, -torch.inf)
        log_z_NC = scores_NCM.logsumexp(dim=-1)
        return scores_NV + (cluster_NC - log_z_NC)[:, self.cluster_V]

    def check_loaded(self) -> None:
        """Refuse clusters that are no partition of the words into some of each.

        Raises:
            DataError: the file is damaged; the caller puts its path before the message.
        """
        n_clusters, n_places = self.members_CM.shape
        within_V = (self.cluster_V >= 0) & (self.cluster_V < n_clusters)
        within_V &= (self.place_V >= 0) & (self.place_V < n_places)
        # V places that hold V different words are different places: the others must be empty.
        if not bool(within_V.all()) or not self._is_partition():
            raise DataError(
                "members_CM, cluster_V and place_V do not put every word into one cluster; "
                "the run is damaged"
            )

    def _is_partition(self) -> bool:
        words_V = torch.arange(len(self.cluster_V), device=self.cluster_V.device)
        filled_CM = self.members_CM != -1
        return (
            torch.equal(self.members_CM[self.cluster_V, self.place_V], words_V)
            and int(filled_CM.sum()) == len(words_V)
            and bool(filled_CM.any(dim=1).all())
        )
