"""The obvious way to train and evaluate the paper's model in PyTorch, for comparison.

Everything is fp32 and eager: one convolution for each width over every token of a chunk, repeated
ones included, and clipping and update in a Python loop. Its losses equal charlm's but for fp32
rounding.
"""

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contexts.lstm import LSTM
from charlm.model.encoders.char_cnn import CharCNN
from charlm.model.encoders.highway import CARRY_BIAS, HighwayEncoder, HighwayLayer
from charlm.model.language_model import LanguageModel
from charlm.model.outputs.softmax import Softmax
from charlm.training.recipe.batching import Batch

States = tuple[Tensor, Tensor]  # h and c of all layers, each (layers, B, H)


class NaiveModel(nn.Module):
    """char-small, char-large and the like, as plain modules with a model's own weights, copied.

    Raises:
        ConfigError: a model of other parts or options.
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        encoder, context, output = model.encoder, model.context, model.output
        highway = [p for p in getattr(encoder, "layers", ()) if isinstance(p, HighwayLayer)]
        cnn = encoder.encoder if isinstance(encoder, HighwayEncoder) else encoder
        if (
            not isinstance(cnn, CharCNN)
            or not (isinstance(context, LSTM) and _is_plain(context))
            or not isinstance(output, Softmax)
            or output.projection
        ):
            raise ConfigError(
                "bench: there is a naive path for char-cnn, highway, lstm and softmax alone, as "
                "Kim et al. put them together; expected such a model; take --arch char-small or "
                "char-large"
            )
        self.widest = cnn.widest
        self.letters = deepcopy(cnn.letters)
        parts = [part for part in cnn.filters if isinstance(part, nn.Linear)]
        self.convolutions = nn.ModuleList(_convolution(part, cnn.letters) for part in parts)
        self.transforms = nn.ModuleList(deepcopy(layer.transform) for layer in highway)
        self.gates = nn.ModuleList(deepcopy(layer.gate) for layer in highway)
        self.dropout = context.rates[-1]
        layers = [layer for layer in context.layers if isinstance(layer, nn.LSTM)]
        self.lstm = nn.LSTM(cnn.dim, context.dim, len(layers), dropout=self.dropout)
        with torch.no_grad():
            for number, layer in enumerate(layers):
                for name, weight in layer.named_parameters():
                    self.lstm.get_parameter(name[:-1] + str(number)).copy_(weight)
        self.words = deepcopy(output.words)
        self.to(cnn.letters.weight.device)

    def forward(self, letters_TBL: Tensor, state: States) -> tuple[Tensor, States]:
        """Scores of all words, (T, B, V), and the state behind the last position."""
        n_steps, n_streams, _ = letters_TBL.shape
        padded = functional.pad(letters_TBL.flatten(0, 1), (0, self.widest))
        x_NDL = self.letters(padded).transpose(1, 2)
        pooled = [torch.tanh(conv(x_NDL)).max(dim=2).values for conv in self.convolutions]
        y_NE = torch.cat(pooled, dim=1)
        for transform, gate in zip(self.transforms, self.gates, strict=True):
            t_NE = torch.sigmoid(gate(y_NE) + CARRY_BIAS)
            y_NE = t_NE * torch.relu(transform(y_NE)) + (1 - t_NE) * y_NE
        h_TBH, state = self.lstm(y_NE.view(n_steps, n_streams, -1), state)
        h_TBH = functional.dropout(h_TBH, self.dropout, self.training)
        return self.words(h_TBH), state

    def start(self, n_streams: int) -> States:
        """The state before any word."""
        shape = (self.lstm.num_layers, n_streams, self.lstm.hidden_size)
        zeros = self.words.weight.new_zeros(shape)
        return zeros, zeros

    def nll(self, letters_TBL: Tensor, words_TB: Tensor, *, state: States) -> tuple[Tensor, States]:
        """The summed negative log-probability of the words in nats, and the state behind them."""
        scores_TBV, state = self(letters_TBL, state)
        scores_NV, words_N = scores_TBV.flatten(0, 1), words_TB.flatten()
        total = functional.cross_entropy(scores_NV, words_N, ignore_index=-1, reduction="sum")
        return total, state

    def step(self, batch: Batch, state: States, *, clip: float, rate: float) -> States:
        """One update by plain SGD; the state behind the batch."""
        letters_TBL = batch.forms.letters_NL[batch.where_TB]
        total, state = self.nll(letters_TBL, batch.words_TB, state=state)
        self.zero_grad()
        (total / batch.words_TB.shape[1]).backward()
        parameters = list(self.parameters())
        norm = sum(float(p.grad.norm()) ** 2 for p in parameters if p.grad is not None) ** 0.5
        with torch.no_grad():
            for p in parameters:
                if p.grad is not None:
                    p.grad.mul_(min(1.0, clip / (norm + 1e-6)) if clip else 1.0)
                    p.add_(p.grad, alpha=-rate)
            self.letters.weight[0].zero_()
        return state[0].detach(), state[1].detach()


def _is_plain(context: LSTM) -> bool:
    return (
        all(isinstance(layer, nn.LSTM) for layer in context.layers)
        and len(set(context.widths[1:])) == 1
        and len(set(context.rates)) == 1
        and not (context.input_dropout or context.variational or context.residual)
        and not (context.sum_layers or context.forget_bias or context.noise.weight_drop)
        and not len(context.start.leaves)
    )


def _convolution(filters: nn.Linear, letters: nn.Embedding) -> nn.Conv1d:
    dim = letters.embedding_dim
    width = filters.in_features // dim
    convolution = nn.Conv1d(dim, filters.out_features, width)
    weight = filters.weight.view(-1, width, dim).transpose(1, 2)
    convolution.load_state_dict({"weight": weight, "bias": filters.bias})
    return convolution
