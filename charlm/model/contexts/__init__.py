"""Contexts: the vectors so far to one vector per position. To add one, list its class here."""

from charlm.model.contexts.deep_transition import DeepTransition
from charlm.model.contexts.ffnn import FeedForward
from charlm.model.contexts.gru import GRU
from charlm.model.contexts.log_bilinear import LogBilinear
from charlm.model.contexts.lstm import LSTM
from charlm.model.contexts.mogrifier import Mogrifier
from charlm.model.contexts.mut import MUT1, MUT2, MUT3
from charlm.model.contexts.rnn import RNN
from charlm.model.contract import Context

CONTEXTS: dict[str, type[Context]] = {
    "lstm": LSTM,
    "mogrifier": Mogrifier,
    "gru": GRU,
    "rnn": RNN,
    "mut1": MUT1,
    "mut2": MUT2,
    "mut3": MUT3,
    "ffnn": FeedForward,
    "log-bilinear": LogBilinear,
    "deep-transition": DeepTransition,
}
