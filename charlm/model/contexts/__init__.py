"""Contexts: vectors so far to one vector a position. To add one, list its class here."""

from charlm.model.contexts.lstm import LSTM
from charlm.model.contract import Context

CONTEXTS: dict[str, type[Context]] = {"lstm": LSTM}
