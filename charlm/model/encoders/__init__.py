"""Encoders: forms to vectors. To add one, write its class in a file and list it here."""

from charlm.model.contract import Encoder
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.encoders.highway import HighwayEncoder
from charlm.model.encoders.mlp import MLPEncoder
from charlm.model.encoders.word import WordLookup

ENCODERS: dict[str, type[Encoder]] = {
    "word": WordLookup,
    "char-cnn": CharCNN,
    "highway": HighwayEncoder,
    "mlp": MLPEncoder,
}
