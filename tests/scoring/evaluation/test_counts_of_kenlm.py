"""Counts of a text equal those of KenLM."""

from pathlib import Path
from types import ModuleType

from charlm import evaluate

TEXT = "a b zz\n\nc d e f <unk> a a\nzz\n"
WORDS = "abcdefgh"  # the words of the run


def write_arpa(path: Path) -> None:
    unigrams = ["-1\t<unk>\t0", "-99\t<s>\t0", "-1\t</s>", *(f"-1\t{w}\t0" for w in WORDS)]
    lines = ["\\data\\", f"ngram 1={len(unigrams)}", "ngram 2=1", ""]
    lines += ["\\1-grams:", *unigrams, "", "\\2-grams:", "-0.5\t<s> a", "", "\\end\\", ""]
    path.write_text("\n".join(lines))


def test_tokens_and_unknown_words_of_a_text_are_as_many_as_kenlm_scores(
    run: Path, kenlm: ModuleType, text: Path, tmp_path: Path
) -> None:
    write_arpa(tmp_path / "a.arpa")
    model = kenlm.Model(str(tmp_path / "a.arpa"))
    scores = [score for line in TEXT.splitlines() for score in model.full_scores(line)]
    (result,) = evaluate(run, files=[text], device="cpu")
    assert result.counts.n_tokens == len(scores) == 15
    assert result.counts.n_oov == sum(is_oov for _, _, is_oov in scores) == 3
