"""Penalties on what the context gives, beside the criterion (Merity et al., 2017).

Each is a mean over the batch times its tokens, so that it grows and shrinks as a loss that is
summed over tokens does, whatever the divisor. `exists_TB` is None where every place has a word:
then a GPU need not count them.
"""

from torch import Tensor


def activation_penalty(h_TBH: Tensor, exists_TB: Tensor | None) -> Tensor:
    """Activation regularisation: the mean square of the context's outputs, where there is a word.

    Differs from the paper's code in nothing but padding: dropout is in the outputs, as there.
    """
    squares_TB = h_TBH.float().square().mean(dim=-1)
    return (squares_TB if exists_TB is None else squares_TB[exists_TB]).mean()


def temporal_penalty(h_TBH: Tensor, exists_TB: Tensor | None) -> Tensor:
    """Temporal activation regularisation: the mean square of the change from step to step.

    Differs from the paper: it takes the outputs after dropout, for the context gives no others.
    """
    both_TB = None if exists_TB is None else exists_TB[1:] & exists_TB[:-1]
    if len(h_TBH) == 1 or (both_TB is not None and not bool(both_TB.any())):
        return h_TBH.new_zeros(())
    squares_TB = h_TBH.float().diff(dim=0).square().mean(dim=-1)
    return (squares_TB if both_TB is None else squares_TB[both_TB]).mean()
