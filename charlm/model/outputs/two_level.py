"""P(w | h) = P(cluster of w | h) · P(w | its cluster, h): what two-level outputs share.

Only a word's cluster is stored, with the weights: which words a cluster holds follows from it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import DataError

UNKNOWN = -1  # the cluster of a word whose cluster is yet to be loaded


class _Members(NamedTuple):
    """The words of each cluster, derived from `cluster_V`, and the version it was derived from."""

    cluster_V: Tensor
    version: int
    order_V: Tensor  # word ids, cluster by cluster
    starts_C: Tensor  # where a cluster begins in it
    sizes_C: Tensor
    place_V: Tensor  # a word's place within its cluster


class _Block(NamedTuple):
    """Clusters of like size, met about equally often: one padded product."""

    positions_GK: Tensor  # positions whose word is in the cluster
    is_position_GK: Tensor  # the rest is padding
    words_GM: Tensor  # the cluster's words
    is_word_GM: Tensor


class TwoLevel(nn.Module):
    """Softmax over clusters, then over the words of one; both linear in h."""

    cluster_V: Tensor

    def __init__(self, input_dim: int, cluster_V: Tensor, *, n_clusters: int) -> None:
        super().__init__()
        self.clusters = nn.Linear(input_dim, n_clusters)
        self.words = nn.Linear(input_dim, len(cluster_V))
        self.register_buffer("cluster_V", cluster_V)
        self._derived: _Members | None = None

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """Negative log-probability of each word in nats, shape (N,), fp32; 0 where it is -1."""
        self._members()  # refuses what no constructor makes, before it is an index
        scored_N = words_N >= 0
        h_NH, words = h_NH[scored_N], words_N[scored_N]
        cluster_nll = functional.cross_entropy(
            self.clusters(h_NH).float(), self.cluster_V[words], reduction="none"
        )
        word_nll = self._nll_within(h_NH, words).float()
        result_N = torch.zeros(words_N.shape, device=h_NH.device)
        return result_N.masked_scatter(scored_N, cluster_nll + word_nll)

    def _nll_within(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """−log P(word | cluster), shape (N,): one gather of rows, one product a block of clusters.

        A product over all clusters at once would be padded to the largest of them and to the one
        met most often: by a factor of 141 for 100,000 words in clusters by frequency.
        """
        blocks = list(self._blocks(self.cluster_V[words_N]))
        if not blocks:
            return h_NH.new_zeros(0)
        # One gather, split: the gradient of each gather from `words` is as large as `words`.
        positions = torch.cat([block.positions_GK.flatten() for block in blocks])
        rows = torch.cat([block.words_GM.flatten() for block in blocks])
        n_positions = [block.positions_GK.numel() for block in blocks]
        n_rows = [block.words_GM.numel() for block in blocks]
        h_parts = h_NH.to(self.words.weight.dtype)[positions].split(n_positions)
        weight_parts = functional.embedding(rows, self.words.weight).split(n_rows)
        bias_parts = self.words.bias[rows].split(n_rows)
        places_N = self._members().place_V[words_N]
        parts = []
        # The products are small: bf16 would cost more to convert to than it saves.
        with torch.autocast(h_NH.device.type, enabled=False):
            for block, h, weight, bias in zip(
                blocks, h_parts, weight_parts, bias_parts, strict=True
            ):
                scores_GKM = _scores(block, h, weight, bias)
                targets_GK = places_N[block.positions_GK]
                is_position = block.is_position_GK
                parts.append(
                    functional.cross_entropy(
                        scores_GKM[is_position], targets_GK[is_position], reduction="none"
                    )
                )
        filled = torch.cat([block.positions_GK[block.is_position_GK] for block in blocks])
        return torch.cat(parts)[filled.argsort()]

    def _blocks(self, clusters_N: Tensor) -> Iterator[_Block]:
        members = self._members()
        groups_G, group_N, counts_G = clusters_N.unique(return_inverse=True, return_counts=True)
        order_N = group_N.argsort(stable=True)
        firsts_G = counts_G.cumsum(0) - counts_G
        sizes_G = members.sizes_C[groups_G]
        alike: dict[tuple[int, int], list[int]] = {}
        for group, shape in enumerate(zip(counts_G.tolist(), sizes_G.tolist(), strict=True)):
            alike.setdefault((shape[0].bit_length(), shape[1].bit_length()), []).append(group)
        for listed in alike.values():
            chosen = torch.tensor(listed, device=clusters_N.device)
            positions, is_position = _ranges(firsts_G[chosen], counts_G[chosen])
            words, is_word = _ranges(members.starts_C[groups_G[chosen]], sizes_G[chosen])
            yield _Block(order_N[positions], is_position, members.order_V[words], is_word)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        """Log-probabilities of all words in nats, shape (N, V), fp32."""
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
        """What follows from `cluster_V`, derived when first asked for and after it was loaded."""
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
        """Refuse clusters that are no partition of the words into some of each.

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


def _ranges(starts_G: Tensor, counts_G: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers of G ranges, side by side, and where they are more than padding."""
    offsets = torch.arange(int(counts_G.max()), device=starts_G.device)
    is_filled = offsets < counts_G[:, None]
    return starts_G[:, None] + offsets.where(is_filled, 0), is_filled


def _scores(block: _Block, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Scores of a block's words at its positions, (G, K, M); minus infinity behind the last."""
    n_groups, n_words = block.words_GM.shape
    h_GKH = h.view(n_groups, -1, h.shape[-1])
    weight_GMH = weight.view(n_groups, n_words, -1)
    scores_GKM = torch.baddbmm(bias.view(n_groups, 1, n_words), h_GKH, weight_GMH.transpose(1, 2))
    return scores_GKM.masked_fill(~block.is_word_GM[:, None], -torch.inf)
