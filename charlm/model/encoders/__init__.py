"""Encoders: from forms to vectors. To add one, write its class in a file and list it here."""

from charlm.model.contract import Encoder
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.encoders.char_lstm import CharLSTM
from charlm.model.encoders.char_ngram import CharNgrams
from charlm.model.encoders.gate import GateEncoder
from charlm.model.encoders.highway import HighwayEncoder
from charlm.model.encoders.mlp import MLPEncoder
from charlm.model.encoders.morph import MorphEncoder
from charlm.model.encoders.project import ProjectEncoder
from charlm.model.encoders.sides import AddEncoder, AverageEncoder, ConcatEncoder, ConvexEncoder
from charlm.model.encoders.tensor import TensorEncoder
from charlm.model.encoders.type_dropout import TypeDropout
from charlm.model.encoders.word import WordLookup

ENCODERS: dict[str, type[Encoder]] = {
    "word": WordLookup,
    "char-cnn": CharCNN,
    "char-lstm": CharLSTM,
    "char-ngram": CharNgrams,
    "highway": HighwayEncoder,
    "mlp": MLPEncoder,
    "project": ProjectEncoder,
    "type-dropout": TypeDropout,
    "concat": ConcatEncoder,
    "add": AddEncoder,
    "average": AverageEncoder,
    "convex": ConvexEncoder,
    "tensor": TensorEncoder,
    "gate": GateEncoder,
    "morph": MorphEncoder,
}
