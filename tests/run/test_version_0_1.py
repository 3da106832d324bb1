"""What charlm 0.1 wrote still loads, and gives the same answers as in 0.1.

`version_0_1` was written by commit da05298 from the corpus that it holds: `char` by `charlm train
--arch char-small --speller`, `morph` by `--arch morph-small --vocab vocabulary-with-morphs.json`,
`unfinished` by `--arch gru --max-time` after one of nine epochs (AdamW, averaged weights),
`kn.arpa` by `charlm ngram`, `weights.json` by `charlm score --tune dev.tsv`, `scored.tsv` with
these, and `answers.json` by `eval` and `nn`. Curves, and the files that finished runs keep for
--resume, are left out for their size.
"""

import json
import shutil
from pathlib import Path

import pytest

import charlm
from charlm.insight.vectors.neighbours import neighbours
from charlm.nbest.ranking.weights import load_weights
from charlm.run.folder import load_info
from charlm.scoring.evaluation.evaluate import evaluate
from charlm.text.vocabulary.vocabulary import load_inventory
from charlm.training.train import train

HERE = Path(__file__).parent / "version_0_1"
CORPUS = HERE / "corpus"
ANSWERS = json.loads((HERE / "answers.json").read_text())


@pytest.mark.parametrize("run", ["char", "morph", "unfinished"])
def test_a_run_of_0_1_has_its_perplexities_and_signatures(run: str) -> None:
    (result,) = evaluate(HERE / run, data=CORPUS, split="test", device="cpu", threads=1)
    for state, (ppl, signature) in ANSWERS[run].items():
        assert result.by_state[state].ppl == pytest.approx(ppl, rel=1e-5)
        _, _, what_counts = signature.partition("|")
        assert result.signatures[state].endswith(what_counts)


def test_the_speller_of_0_1_spells_as_it_did() -> None:
    (result,) = evaluate(HERE / "char", data=CORPUS, open_vocabulary=True, device="cpu", threads=1)
    assert result.spelling is not None
    for state, ppl in ANSWERS["spelled"].items():
        assert result.to_dict()["open_vocabulary"][state]["ppl"] == pytest.approx(ppl, rel=1e-5)


def test_words_have_the_neighbours_that_they_had_in_0_1() -> None:
    found = neighbours(list(ANSWERS["neighbours"]), model=HERE / "char", k=3, device="cpu")
    for each in found:
        expected = dict(ANSWERS["neighbours"][each.word])
        assert {near.word: pytest.approx(near.similarity, abs=2e-6) for near in each.nearest} == (
            expected
        )


def test_a_training_that_0_1_began_goes_on_to_its_end(tmp_path: Path) -> None:
    run = tmp_path / "unfinished"
    shutil.copytree(HERE / "unfinished", run)
    train(data=CORPUS, out=run, resume=True, device="cpu", threads=1, precision="fp32")
    last = json.loads((run / "log.jsonl").read_text().splitlines()[-1])
    assert last["epoch"] == 9
    assert last["valid_ppl"] == pytest.approx(ANSWERS["valid_ppl_after_nine_epochs"], rel=1e-4)


def test_a_vocabulary_of_0_1_has_its_morphs_and_its_hash() -> None:
    inventory = load_inventory(HERE / "vocabulary-with-morphs.json")
    assert inventory.sha256 == load_info(HERE / "morph").vocabulary_sha256
    assert inventory.morphs is not None


def test_weights_of_0_1_choose_the_hypotheses_that_they_chose(tmp_path: Path) -> None:
    assert load_weights(HERE / "weights.json").values["nn"] == 50.6999
    charlm.score(
        HERE / "dev.tsv",
        model=HERE / "char",
        lm=HERE / "kn.arpa",
        weights=HERE / "weights.json",
        write="tsv",
        out=tmp_path / "scored.tsv",
        device="cpu",
        threads=1,
    )
    now, then = ((path / "scored.tsv").read_text().splitlines() for path in (tmp_path, HERE))
    assert now[0] == then[0]
    for new, old in zip(now[1:], then[1:], strict=True):
        (*ours, our_total, our_text), (*theirs, their_total, their_text) = (
            row.split("\t") for row in (new, old)
        )
        assert (ours[:2], our_text) == (theirs[:2], their_text)
        assert float(our_total) == pytest.approx(float(their_total), rel=1e-4)
