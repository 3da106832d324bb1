"""Log10 probabilities of stdin's sentences by a folder of `charlm export --onnx`."""

import json
import sys
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession

folder = Path(sys.argv[1])
vocab, info = (json.loads((folder / f"{n}.json").read_text("utf-8")) for n in ("vocab", "export"))
step, encode = (InferenceSession(folder / f"{name}.onnx") for name in ("step", "encode"))
ids = {word: number for number, word in enumerate(vocab["words"])}
letters = {letter: number for number, letter in enumerate(vocab["characters"], 6)}
names = [each.name for each in step.get_inputs()][1:]  # of the state


def vector(word: str) -> np.ndarray:
    form = word if word in ids or info["oov_input"] == "spelling" else "<unk>"
    known = {"<unk>": [3], "</s>": [4]}
    spelled = known.get(form) or [letters.get(c, 5) for c in form[: vocab["max_word_length"]]]
    inputs = {"words": np.array([ids.get(form, 1)]), "letters": np.array([[1, *spelled, 2]])}
    return encode.run(None, inputs)[0]


for line in sys.stdin:
    state = [np.zeros((1, *leaf["shape"]), np.float32) for leaf in info["state"]]
    words, total = ["</s>", *line.split(), "</s>"], 0.0
    for before, word in zip(words[:-1], words[1:], strict=True):
        feed = {"x": vector(before), **dict(zip(names, state, strict=True))}
        log_probs, *state = step.run(None, feed)
        total += float(log_probs[0, ids.get(word, 1)])
    sys.stdout.write(f"{total / np.log(10):.4f}\t{line.strip()}\n")
