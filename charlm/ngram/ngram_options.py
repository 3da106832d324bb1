"""The options of `charlm ngram`."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from charlm.interface.options import Encoding, Files, Opt, Split
from charlm.text.corpus.normalisation.reading_options import ReadingOptions
from charlm.text.perplexity.perplexity import Evaluation, ScoredSentence
from charlm.text.perplexity.spelled_words import Spells

Engine = Literal["auto", "charlm", "kenlm", "lmplz"]
Start = Literal["lmplz", "srilm"]
EntropyPrune = Annotated[
    float,
    Opt(
        "Drop n-grams whose removal raises the perplexity by at most this share, such as 1e-8, as "
        "SRILM's -prune does. Unlike SRILM it keeps b c if a b c stays. 0 drops none.",
        "N-grams",
        least=0,
        metavar="T",
    ),
]


@dataclass(frozen=True)
class NgramOptions(ReadingOptions):
    """Where an n-gram model comes from, where it goes, and what it measures."""

    files: Files = ()
    _: KW_ONLY
    train: Annotated[
        str | Path | None,
        Opt("Text to estimate a model from; train.txt of --data if not given.", metavar="TEXT"),
    ] = None
    counts: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Counts to estimate a model from instead of a text, an n-gram and its count a line, as "
            "SRILM's `ngram-count -write` and Google have them, for all orders; may be repeated, "
            "and counts of the same n-gram add up. Text rules do not apply to them.",
        ),
    ] = ()
    lm: Annotated[
        str | Path | None,
        Opt(
            "Model to load: an ARPA file (plain, gz, bz2, xz; - is standard input), or a KenLM "
            "binary, whose contents are not checked: take none from strangers.",
            metavar="MODEL",
        ),
    ] = None
    data: Annotated[
        str | Path | None,
        Opt(
            "Corpus directory whose train.txt the model is estimated from, and of which a split is "
            "measured.",
            metavar="DIR",
        ),
    ] = None
    split: Split = None
    out: Annotated[
        str | Path | None,
        Opt(
            "File to write the model to: an ARPA file, compressed if the name ends in .gz, .bz2 or "
            ".xz, or KenLM's binary if it ends in .bin, .binary or .klm."
        ),
    ] = None
    write_counts: Annotated[
        str | Path | None,
        Opt(
            "File to write the n-grams and their counts to, as --counts reads them; compressed as "
            "an ARPA file is."
        ),
    ] = None
    vocab: Annotated[
        str | Path | None,
        Opt(
            "Vocabulary whose text normalisation applies, and outside which every word is <unk>; "
            "or a list of words (as for `charlm vocab --words`; - is standard input). With --lm it "
            "is of the texts alone, and the model that is written keeps its words.",
            metavar="FILE|RUN",
        ),
    ] = None
    speller: Annotated[
        Spells | None,
        Opt(
            "What adds figures with words outside its vocabulary spelled instead of <unk>, as "
            "charlm.scoring.likelihood.open_vocabulary.OpenVocabulary does by a run.",
            is_for_python=True,
        ),
    ] = None
    no_sentence_marks: Annotated[
        bool,
        Opt(
            "Put neither <s> before a sentence nor </s> after it, as KenLM's `query -n`: the first "
            "word has no context, and only words are counted."
        ),
    ] = False
    encoding: Encoding = "utf-8"
    order: Annotated[
        int | None,
        Opt(
            "Length of the longest n-grams: of an estimate 5 if not given; KenLM takes 6 at most "
            "unless compiled for more. With --lm the model loses longer ones, as by SRILM's `ngram "
            "-order`; of Kneser-Ney that is worse than an estimate of this order.",
            "N-grams",
            least=1,
            most=9,
        ),
    ] = None
    prune: Annotated[
        str | Sequence[int] | None,
        Opt(
            "Largest count at which n-grams are left out, by order; 1,1,1 leaves out words, too; "
            "the last number also holds for longer n-grams; none are left out if not given.",
            "Estimate",
            metavar="0,0,1",
            cli_type=str | None,
        ),
    ] = None
    limit_vocab: Annotated[
        str | Path | None,
        Opt(
            "Words that the model keeps, a list or a vocabulary: it loses all n-grams of others, "
            "and <unk> gets what these had. Unlike SRILM's -limit-vocab it sums to 1.",
            "N-grams",
            metavar="FILE|RUN",
        ),
    ] = None
    entropy_prune: EntropyPrune = 0.0
    lmplz: Annotated[
        str | Path | None, Opt("KenLM's lmplz, to estimate with it.", "Estimate", metavar="PATH")
    ] = None
    engine: Annotated[
        Engine,
        Opt(
            "What computes. A model is estimated by charlm (auto) or lmplz (which works on disk). "
            "For --lm it is queried by kenlm (auto, if it is installed and takes the file) or "
            "charlm, which checks more of the file.",
            "Machine",
        ),
    ] = "auto"
    start: Annotated[
        Start | None,
        Opt(
            "Log10 probability of <s> in the ARPA file: lmplz's 0, also if not given, or SRILM's "
            "-99.",
            "Layout",
        ),
    ] = None
    on_model: Annotated[
        Callable[[Any], object] | None,
        Opt("Called with the model's description before it measures.", is_for_python=True),
    ] = None
    on_sentence: Annotated[
        Callable[[ScoredSentence], object] | None,
        Opt("Called with each sentence.", is_for_python=True),
    ] = None
    on_text: Annotated[
        Callable[[Evaluation], object] | None,
        Opt("Called with each text's result when it is finished.", is_for_python=True),
    ] = None
