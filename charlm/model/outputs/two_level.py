"""P(w | h) = P(cluster of w | h) · P(w | its cluster, h): what two-level outputs share.

Only the cluster of each word is stored, with the weights; the words of each cluster are derived
from it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import DataError
from charlm.model.contract import Output
from charlm.model.kernels import applied
from charlm.model.kernels.within_clusters import ClusterBlock, WithinClusters

NUMBERS_AT_ONCE = 1 << 21  # in the vectors of one product: 8 MB, so that they fit in a cache
UNKNOWN = -1  # the cluster of a word before the clusters are loaded


class _Members(NamedTuple):
    """The words of each cluster, derived from `cluster_V`, and the version it was derived from."""

    cluster_V: Tensor
    version: int
    order_V: Tensor  # word ids, cluster by cluster
    starts_C: Tensor  # where a cluster begins in `order_V`
    sizes_C: Tensor
    place_V: Tensor  # a word's place within its cluster


class TwoLevel(nn.Module):
    """Softmax over clusters, then over the words of a cluster; scores are linear in h."""

    cluster_V: Tensor

    def __init__(self, input_dim: int, cluster_V: Tensor, *, n_clusters: int) -> None:
        super().__init__()
        self.clusters = nn.Linear(input_dim, n_clusters)
        self.words = nn.Linear(input_dim, len(cluster_V))
        self.register_buffer("cluster_V", cluster_V)
        self._derived: _Members | None = None

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """As `Output.nll`."""
        self._members()  # refuses invalid clusters before they are used as indices
        scored_N = words_N >= 0
        h_NH, words = h_NH[scored_N], words_N[scored_N]
        cluster_nll = functional.cross_entropy(
            self.clusters(h_NH).float(), self.cluster_V[words], reduction="none"
        )
        word_nll = self._nll_within(h_NH, words).float()
        result_N = torch.zeros(words_N.shape, device=h_NH.device)
        return result_N.masked_scatter(scored_N, cluster_nll + word_nll)

    def _nll_within(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """−log P(word | cluster), shape (N,)."""
        blocks = list(self._blocks(self.cluster_V[words_N]))
        if not blocks:
            return h_NH.new_zeros(0)
        nll_N: Tensor = applied(
            WithinClusters,
            h_NH.to(self.words.weight.dtype),
            self.words.weight,
            self.words.bias,
            self._members().place_V[words_N],
            blocks,
        )
        return nll_N

    def _blocks(self, clusters_N: Tensor) -> Iterator[ClusterBlock]:
        members = self._members()
        groups_G, group_N, counts_G = clusters_N.unique(return_inverse=True, return_counts=True)
        order_N = group_N.argsort(stable=True)
        firsts_G = counts_G.cumsum(0) - counts_G
        sizes_G = members.sizes_C[groups_G]
        at_once = max(1, NUMBERS_AT_ONCE // self.words.in_features)
        sizes = sizes_G.tolist()
        for listed in _alike(counts_G.tolist(), sizes, most_words=at_once):
            chosen = torch.tensor(listed, device=clusters_N.device)
            positions, is_position = _ranges(firsts_G[chosen], counts_G[chosen])
            words, is_word = _ranges(members.starts_C[groups_G[chosen]], sizes_G[chosen])
            n_words = sum(sizes[group] for group in listed)
            yield ClusterBlock(
                order_N[positions], is_position, members.order_V[words], is_word, n_words
            )

    def log_probs(self, h_NH: Tensor) -> Tensor:
        """As `Output.log_probs`."""
        self._members()
        cluster_NC = functional.log_softmax(self.clusters(h_NH).float(), dim=-1)
        scores_NV: Tensor = self.words(h_NH).float()
        cluster_NV = self.cluster_V.expand_as(scores_NV)
        highest_NC = torch.full_like(cluster_NC, -torch.inf).scatter_reduce(
            1, cluster_NV, scores_NV.detach(), "amax"
        )
        above_NV = scores_NV - highest_NC[:, self.cluster_V]
        total_NC = torch.zeros_like(cluster_NC).index_add(1, self.cluster_V, above_NV.exp())
        return above_NV + (cluster_NC - total_NC.log())[:, self.cluster_V]

    def _members(self) -> _Members:
        """What is derived from `cluster_V`, at first use and again after loading."""
        known, cluster_V = self._derived, self.cluster_V
        if known and known.cluster_V is cluster_V and known.version == cluster_V._version:
            return known
        self.check_loaded()
        n_words = len(cluster_V)
        order_V = cluster_V.argsort(stable=True)
        sizes_C = torch.bincount(cluster_V, minlength=self.clusters.out_features)
        starts_C = sizes_C.cumsum(0) - sizes_C
        place_V = torch.empty_like(cluster_V)
        place_V[order_V] = (
            torch.arange(n_words, device=cluster_V.device) - starts_C[cluster_V[order_V]]
        )
        version = cluster_V._version
        self._derived = _Members(cluster_V, version, order_V, starts_C, sizes_C, place_V)
        return self._derived

    def check_loaded(self) -> None:
        """Refuse clusters that are not a partition of the words, or of which one is empty.

        Raises:
            DataError: the file is damaged; the caller puts its path before the message.
        """
        n_clusters, cluster_V = self.clusters.out_features, self.cluster_V
        within_V = (cluster_V >= 0) & (cluster_V < n_clusters)
        if not bool(within_V.all()) or len(cluster_V.unique()) < n_clusters:
            raise DataError(
                f"cluster_V does not put the {len(cluster_V)} words into {n_clusters} clusters of "
                "one or more; the run is damaged, or has no checkpoint yet; train anew"
            )


class TwoLevelOutput(Output):
    """An output whose constructor assigns the words to clusters and creates `levels` with them."""

    is_by_rank = True
    levels: TwoLevel

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        return self.levels.nll(h_NH, words_N)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        return self.levels.log_probs(h_NH)

    def score_parameters(self) -> list[nn.Parameter]:
        """Vectors and biases of the clusters and of the words."""
        return list(self.levels.parameters())

    def check_loaded(self) -> None:
        self.levels.check_loaded()


def _alike(counts_G: list[int], sizes_G: list[int], *, most_words: int) -> Iterator[list[int]]:
    """Lists of groups with similar numbers of positions and words, of `most_words` at most."""
    alike: dict[tuple[int, int], list[int]] = {}
    for group, (count, size) in enumerate(zip(counts_G, sizes_G, strict=True)):
        alike.setdefault((count.bit_length(), size.bit_length()), []).append(group)
    for groups in alike.values():
        at_once = max(1, most_words // max(sizes_G[group] for group in groups))
        for first in range(0, len(groups), at_once):
            yield groups[first : first + at_once]


def _ranges(starts_G: Tensor, counts_G: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers of G ranges as padded rows, and where they are not padding."""
    offsets = torch.arange(int(counts_G.max()), device=starts_G.device)
    is_filled = offsets < counts_G[:, None]
    return starts_G[:, None] + offsets.where(is_filled, 0), is_filled
