"""Log10 probabilities by a folder of `charlm export --onnx`: python score.py FOLDER < SENTENCES

Words stand between blanks, as the model's text had them: rules for raw text are charlm's.
"""

import json
import re
import sys
import unicodedata
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession

if len(sys.argv) != 2 or not Path(sys.argv[1], "export.json").is_file():
    sys.exit(__doc__)
folder = Path(sys.argv[1])
vocab, info = (json.loads((folder / f"{n}.json").read_text("utf-8")) for n in ("vocab", "export"))
step, encode = (InferenceSession(folder / f"{name}.onnx") for name in ("step", "encode"))
ids = {word: number for number, word in enumerate(vocab["words"])}
letters = {letter: number for number, letter in enumerate(vocab["characters"], 6)}
form_inputs = {each.name: each.shape for each in encode.get_inputs()}
if "morphs" in form_inputs:
    sys.exit(f"{folder}: reads words as morphs; expected letters; charlm score reads both")
width = form_inputs["letters"][1]  # a number where all forms are to be as long
names = [each.name for each in step.get_inputs()][1:]  # of the state


def vector(word: str) -> np.ndarray:
    form = word if word in ids or info["oov_input"] == "spelling" else "<unk>"
    shown = (form.removeprefix("<unk>:") or form)[: vocab["max_word_length"]]
    row = [1, *{"<unk>": [3], "</s>": [4]}.get(form, [letters.get(c, 5) for c in shown]), 2]
    row += [0] * (width - len(row) if isinstance(width, int) else 0)
    return encode.run(None, {"words": np.array([ids.get(form, 1)]), "letters": np.array([row])})[0]


start = [np.float32([leaf["initial"] or np.zeros(leaf["shape"])]) for leaf in info["state"]]
form = vocab["normalisation"].pop("unicode")
if rules := sorted(k for k, v in vocab["normalisation"].items() if v not in (False, "none")):
    sys.stderr.write(f"note: lines are not put through the text's rules ({', '.join(rules)})\n")
for line in (raw.decode() for raw in sys.stdin.buffer):  # UTF-8, whatever the locale says
    text = (line if form == "none" else unicodedata.normalize(form, line)).lstrip("\ufeff")
    words, state, total = ["</s>", *re.findall(r"[^ \t\r\n]+", text), "</s>"], start, 0.0
    for before, word in zip(words[:-1], words[1:], strict=True):
        own = dict(zip(names, state, strict=True))
        log_probs, *state = step.run(None, {"x": vector(before), **own})
        total += float(log_probs[0, ids.get(word, 1)])
    sys.stdout.buffer.write(f"{total / np.log(10):.4f}\t{line.strip()}\n".encode())
