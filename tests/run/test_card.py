"""The model card, whole."""

from pathlib import Path

import pytest

from charlm.run.card import save_card
from charlm.run.folder import RunInfo
from charlm.text.vocabulary.vocabulary import inventory_of

CARD = """\
# char-small on ptb

Validation perplexity 96.13 after epoch 2, state carried over 20 streams, fp32. \
For test figures run `charlm eval`.

| what | value |
|---|---|
| parameters | 1,234,567 (encoder 1,234,000, context 500, output 67) |
| words | 5 |
| characters | 8, with 5 markers, as Kim et al. count |
| train text | 42,068 sentences, 929,589 tokens, sha256 aaaaaaaaaaaa |
| valid text | 3,370 sentences, 73,760 tokens, sha256 bbbbbbbbbbbb |
| text rules | lower False, unicode NFC, tokenise none, numbers False |
| vocabulary | cccccccccccc |
| encoder | highway (encoder char-cnn (widths 1,2), layers 1) |
| context | gru (dim 300) |
| output | softmax (bias True) |
| recipe | epochs 25, batch_size 20, clip 5.0, optimiser sgd (lr 1.0), schedule constant |
| seed, threads | 3435, 2 |
| precision, device | bf16, cpu |
| speller | of 1,008 words of train.txt outside the vocabulary |
| trained | 3 of 25 epochs |
| time | 1,335 s |
| versions | charlm 0.1.0, torch 2.13.0 |
| command | `charlm train --data 'a\\|b' --out 'my run'` |

![learning curve](curve.png)
"""


WHOLE = "929,589 tokens, sha256 aaaaaaaaaaaa"
PART = (
    "929,589 tokens: the first, at most 930,000 (--max-tokens), of the text of sha256 aaaaaaaaaaaa"
)


BEST = "after epoch 2"
ONE_SIDE = f"{BEST}, of one side alone (pre-training)"


@pytest.mark.parametrize(
    ("max_tokens", "read", "more", "best"),
    [
        (0, WHOLE, {}, BEST),
        (930_000, PART, {}, BEST),
        (0, WHOLE, {"pretraining": 1}, ONE_SIDE),
    ],
)
def test_the_card_tells_what_the_run_is_and_that_it_read_a_part(
    tmp_path: Path, max_tokens: int, read: str, more: dict[str, int], best: str
) -> None:
    recipe = {
        "epochs": 25,
        "batch_size": 20,
        "clip": 5.0,
        "optimiser": {"type": "sgd", "lr": 1.0},
        "schedule": {"type": "constant"},
    }
    encoder = {"type": "highway", "encoder": {"type": "char-cnn", "widths": [1, 2]}, "layers": 1}
    parts = {
        "encoder": encoder,
        "context": {"type": "gru", "dim": 300},
        "output": {"type": "softmax", "bias": True},
    }
    info = RunInfo(
        arch="char-small",
        settings={**parts, "recipe": recipe},
        corpus={
            "name": "ptb",
            "train": {"n_sentences": 42068, "n_tokens": 929589, "sha256": "a" * 64},
            "valid": {"n_sentences": 3370, "n_tokens": 73760, "sha256": "b" * 64},
            "max_tokens": max_tokens,
        },
        vocabulary_sha256="c" * 64,
        seed=3435,
        threads=2,
        device="cpu",
        precision="bf16",
        versions={"torch": "2.13.0"},
        command=["charlm", "train", "--data", "a|b", "--out", "my run"],
        charlm="0.1.0",
        speller={"n_types": 1008, "text": "train.txt"},
    )
    ppls = [(1, 150.0), (2, 96.126), (3, 96.5)]
    history = [{"epoch": n, "valid_ppl": ppl, "seconds": 411.6, **more} for n, ppl in ppls]
    history[1]["validation_seconds"] = 100.0  # older records have none
    save_card(
        tmp_path,
        info,
        history=history,
        inventory=inventory_of([["ab", "ba", "c", "c"]], min_count=1),
        parameters={"encoder": 1_234_000, "context": 500, "output": 67},
    )
    assert (tmp_path / "card.md").read_text() == CARD.replace(WHOLE, read).replace(BEST, best)
