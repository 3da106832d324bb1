"""Penalties on what the context gives, beside the criterion (Merity et al., 2017).

Each is a mean over the batch times its tokens, so that it grows and shrinks as a loss that is
summed over tokens does, whatever the divisor.
"""

from torch import Tensor


def activation_penalty(h_TBH: Tensor, exists_TB: Tensor) -> Tensor:
    """Activation regularisation: the mean square of the context's outputs, where there is a word.

    Differs from the paper's code in nothing but padding: dropout is in the outputs, as there.
    """
    return h_TBH.float().square().mean(dim=-1)[exists_TB].mean()


def temporal_penalty(h_TBH: Tensor, exists_TB: Tensor) -> Tensor:
    """Temporal activation regularisation: the mean square of the change from step to step.

    Differs from the paper: it takes the outputs after dropout, for the context gives no others.
    """
    both_TB = exists_TB[1:] & exists_TB[:-1]
    if not bool(both_TB.any()):
        return h_TBH.new_zeros(())
    changes_TBH = h_TBH.float().diff(dim=0)
    return changes_TBH.square().mean(dim=-1)[both_TB].mean()
