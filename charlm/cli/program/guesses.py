"""What a user may have meant by something that a command does not take: one line of advice."""

import os
import shlex
from itertools import takewhile
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from charlm.errors import ConfigError

ENCODING = "no --encoding here, it reads UTF-8; `charlm prep --encoding NAME` converts a text"
TEXT_ELSEWHERE = (
    "a file is named without an option, and a sentence comes by a pipe: echo 'the cat' | charlm "
    "COMMAND -"
)
ORDERS = range(1, 10)
LISTS = ("--prune", "--weights", "--mix-weights", "--shares")  # of numbers with commas
WITHOUT_OPTION = "a text to measure is named without an option: charlm ngram --lm MODEL FILE"
ESTIMATES = (
    "estimates are always interpolated modified Kneser-Ney, with fallback discounts for small "
    "texts; drop it"
)
FEWER = (
    "--prune 0,0,1 leaves out n-grams of order 3 and above seen once, as SRILM does without being "
    "asked; here all are kept if it is not given"
)
KEPT_WORDS = "--limit-vocab FILE has the words that the model keeps"
ESTIMATED = "--out FILE has the model that is estimated"
TO_BINARY = "--out MODEL.klm writes KenLM's binary, by its build_binary; ARPA files do as well"
RESCORES = "charlm score LISTS --lm MODEL --weight kn=1 rescores lists"
LISTS_ELSEWHERE = (
    "lists, or their folder, are named without an option: charlm score LISTS --lm MODEL"
)
NATS = "--weight am=1 --weight kn=8 weighs all scores in nats; charlm tune finds weights"
CORPUS = "--data DIR has train.txt and valid.txt, and test.txt if there is one"
CACHE = "charlm eval --model RUN --adapt cache has a cache, of a run"
MIXES = "charlm mix A.arpa B.arpa --weights 0.5,0.5 --arpa OUT.arpa mixes models"
WEIGHTS = "--weights W,W,... has the weights, in the order of the streams"
CHOOSES = "charlm score BOTH.jsonl --weight combined=1 chooses from what is combined"
POSTERIORS = "charlm score LISTS --write nbest reads any lists and writes their posteriors"
TOKENISER = "is part of --metric: bleu has 13a; bleu-zh, bleu-char, … have others"
OF_TUNE = ("--tuned", "--folds", "--restarts", "--range", "--seed", "--test-refs")
OF_ESTIMATION = (
    *(f"--{kind}discount{n}" for kind in ("kn", "ukn", "wb", "n", "c") for n in ("", *ORDERS)),
    *(f"--gt{n}{end}" for n in ORDERS for end in ("", "max")),
    *(f"--interpolate{n}" for n in ("", *ORDERS)),
    "--addsmooth",
    *("--discount_fallback", "--discount-fallback"),
)
ESTIMATION = "ngram --train TEXT --order 5 --out MODEL.arpa"
LATTICES = "score LATTICES --model RUN"
NEW_LM = "score LATTICES --old-lm OLD.arpa --lm NEW.arpa"
COMBINATION = "combine A.jsonl B.jsonl --out BOTH.jsonl"
TUNING = "tune LISTS --refs REFS --model RUN --out WEIGHTS"
# Programs of SRILM, KenLM, Kaldi and the RNNLM toolkit, and what does here what they do.
GUESSED_COMMANDS = {
    **dict.fromkeys(("ngram-count", "lmplz", "make-big-lm"), ESTIMATION),
    "query": "ngram --lm MODEL --format kenlm TEXT",
    "build_binary": "ngram --lm MODEL.arpa --out MODEL.klm",
    "filter": "ngram --lm MODEL.arpa --limit-vocab WORDS --out SMALL.arpa",
    "interpolate": "mix A.arpa B.arpa --text TEXT --arpa MIXED.arpa",
    "compute-best-mix": "mix STREAM STREAM",
    **dict.fromkeys(("ppl", "perplexity", "rnnlm"), "eval TEXT --model RUN"),
    **dict.fromkeys(("lattice-tool", "lmrescore", "rnnlmrescore"), LATTICES),
    **dict.fromkeys(("lattice-lmrescore", "lattice-lmrescore-const-arpa"), NEW_LM),
    **dict.fromkeys(("nbest-rover", "rover", "lattice-combine", "merge-nbest"), COMBINATION),
    "lattice-mbr-decode": "score LATTICES --mbr wer --write trn",
    **dict.fromkeys(("nbest-to-ctm", "lattice-to-ctm-conf"), "score LATTICES --write ctm"),
    "rnnlm-sentence-probs": "score SENTENCES --model RUN --write word-scores",
    "nbest-lattice": "score LISTS --model RUN --write confidences",
    **dict.fromkeys(("nbest-optimize", "mert", "kbmira"), TUNING),
    **dict.fromkeys(("rescore", "rescore-reweight"), "score LISTS --model RUN --weight nn=1"),
    "compute-wer": "score HYPS --format kaldi-text --refs REFS --write none",
    **dict.fromkeys(("sclite", "wer"), "score HYPS --refs REFS --write none"),
    "sacrebleu": "score HYPS --refs REFS --metric bleu --write none",
    "spm_train": "vocab --data DIR --morphs sentencepiece:N",
    **dict.fromkeys(("generate", "gen"), "sample --model RUN"),
}
# Options that people try and a command does not have, and what there is instead.
GUESSED_OPTIONS = {
    "score": {
        "--tune": "is a command of its own now: charlm tune DEV --refs REFS --out weights.json "
        "finds weights, and charlm score LIST --weights weights.json takes them",
        "--serve": "is a command of its own now: charlm serve answers JSON lines",
        **dict.fromkeys(OF_TUNE, "belongs to charlm tune, which finds the weights"),
        "--text": TEXT_ELSEWHERE,
        "--tokenize": TOKENISER,
        **dict.fromkeys(("--nbest", "--nbest-files", "--rescore"), LISTS_ELSEWHERE),
        **dict.fromkeys(("--in-lattice", "--in-lattice-list"), LISTS_ELSEWHERE),
        **dict.fromkeys(("--rescore-lmw", "--rescore-wtw", "--lmwt"), NATS),
        "--mix-lm": "--lm MODEL may be repeated",
        "--lambda": "--mix-weights A,B mixes models word by word",
    },
    "tune": {"--tokenize": TOKENISER},
    "combine": {
        "--weights": "--shares S,S,... has the systems' shares",
        **dict.fromkeys(("--mbr", "--refs", "--metric", "--write"), CHOOSES),
        **dict.fromkeys(("--format", "--columns", "--posterior-scale", "--model"), POSTERIORS),
    },
    "train": {
        **dict.fromkeys(("--train", "--valid", "--test", "--text"), CORPUS),
        "--rnnlm": "--out RUN is the folder that is written",
        "--hidden": "--set context.dim=N has the width of most; charlm train --list NAME shows all",
        "--rand-seed": "--seed N has it",
    },
    "surprisal": {
        "--spillover": "--previous N gives the values of the N words before",
        "--text": TEXT_ELSEWHERE,
    },
    "eval": {
        **dict.fromkeys(("--text", "--ppl", "--test"), TEXT_ELSEWHERE),
        "--lm": "charlm ngram --lm MODEL FILE measures n-gram models",
        "--rnnlm": "--model RUN has the model",
        "--independent": "--state sentence reads every sentence from the initial state",
    },
    "ngram": {
        "--ppl": WITHOUT_OPTION,
        "--text": "--train TEXT has the text to estimate from; " + WITHOUT_OPTION,
        "--read": "--counts FILE has the n-grams and their counts, instead of --train TEXT",
        "--write": "--write-counts FILE writes the n-grams and their counts, --out FILE the model",
        **dict.fromkeys(OF_ESTIMATION, ESTIMATES),
        **{f"--gt{n}min": FEWER for n in ORDERS},
        "--unk": "is always so: unknown words are <unk>, if the model has one; drop it",
        "--subset": KEPT_WORDS,
        "--limit_vocab_file": KEPT_WORDS,
        "--limit-vocab-file": KEPT_WORDS,
        "-o": "--order N is the order, --out FILE the model",
        **dict.fromkeys(("-S", "-T"), "charlm chooses memory and temporary files itself; drop it"),
        **dict.fromkeys(("--mix-lm", "--lambda", "--bayes"), MIXES),
        **{f"--mix-{each}{n}": MIXES for each in ("lm", "lambda") for n in ORDERS},
        **dict.fromkeys(("--cache", "--cache-lambda"), CACHE),
        "--tolower": "--lower makes text lower case",
        "--map-unk": "sed 's/<unk>/<UNK>/g' renames it in an ARPA file",
        **dict.fromkeys(("-n", "--no-sos", "--no-eos"), "--no-sentence-marks does without both"),
        "--gen": "charlm sample --lm MODEL -n N draws sentences",
        **dict.fromkeys(("--rescore", "--nbest", "--nbest-files"), RESCORES),
        "--write-binary": TO_BINARY,
        "--write-binary-lm": TO_BINARY,
        "--write-lm": "--out FILE writes the model",
        "--arpa": "--out FILE writes the model",
    },
    "mix": {
        **dict.fromkeys(("--lm", "--mix-lm"), "models are named without an option: A.arpa B.arpa"),
        "--lambda": WEIGHTS,
        "--write-lm": "--arpa FILE writes the mixture",
    },
    "export": {"--out": "say what goes there instead: --arpa FILE, --onnx DIR or --page FILE"},
}


def explain_options(ctx: Any, args: list[str]) -> None:
    """Explain an option that the command does not have.

    Raises:
        ConfigError: it has another name, one dash, or belongs to another command.
        BadParameter: an encoding, where the command reads UTF-8 alone.
    """
    command = ctx.command
    guesses = GUESSED_OPTIONS.get(command.name or "", {})
    if not _has(command, "out"):
        kept = f"the result goes to standard output; {ctx.command_path} … > FILE keeps it"
        guesses = {"--out": kept} | guesses
    args = args[: args.index("--")] if "--" in args else args
    said = [word.partition("=")[0] for word in args]
    spellings = {spelling for each in command.get_params(ctx) for spelling in each.opts}
    with_one_dash = {word for word in said if len(word) > 2 and word[0] == "-" != word[1]}
    options = {word: f"-{word}" if word in with_one_dash else word for word in said}
    if command.name == "ngram" and {"--text", "--read"} & {*options.values()}:
        guesses = {"--lm": ESTIMATED} | guesses  # of ngram-count; ngram reads it
    told: dict[str, list[str]] = {}
    for word, option in options.items():
        if option in guesses:
            answer = guesses[option].replace("COMMAND", str(command.name))
            told.setdefault(answer, []).append(word)
        elif option in spellings and word in with_one_dash:  # as SRILM's and RNNLM's have
            told[f"expected two dashes, {option}"] = [word]
    if told:
        raise ConfigError("; ".join(f"{', '.join(words)}: {each}" for each, words in told.items()))
    for before, word in zip(["", *args], said, strict=False):
        # Behind an option it may be the value. Typer would name the first letter alone.
        if word in with_one_dash and before[:1] != "-" and word[:2] not in spellings:
            ctx.fail(f"No such option: {word}")
    if "--encoding" in said and not _has(command, "encoding"):
        raise typer.BadParameter(ENCODING, ctx=ctx)


def explain_values(ctx: Any, given: dict[str, Any]) -> None:
    """Explain values that cannot be meant.

    Raises:
        ConfigError: an empty path, such as "$OUT" if OUT is not set: Path takes it for the current
            folder.
        BadParameter: `--onnx --model RUN`: the parser takes --model for the folder.
    """
    spellings = {spelling for each in ctx.command.params for spelling in each.opts}
    for option in ctx.command.params:
        value = given.get(option.name or "")
        if _names_a_file(option) and "" in _as_list(value):
            flag = option.opts[0] if isinstance(option, TyperOption) else option.metavar
            raise ConfigError(f"{flag} '': expected a path; is the variable set?")
        if isinstance(option, TyperOption) and isinstance(value, str) and value in spellings:
            said = f"found the option {value}; expected {option.metavar or 'a value'}"
            raise typer.BadParameter(said, ctx=ctx, param=option)


def explain_words(ctx: Any, args: list[str], *, given: dict[str, Any], extra: list[str]) -> None:
    """Explain words that are not options.

    Raises:
        BadParameter: words that lack an option before them, or a pipe.
        ConfigError: no such preset, which is reported before Typer reports missing options.
    """
    command = ctx.command
    arguments = [each for each in command.params if isinstance(each, TyperArgument)]
    taken = [each.name for each in arguments]
    files = [
        word
        for each in arguments
        if _names_a_file(each)
        for word in _as_list(given.get(each.name or ""))
    ]
    _explain_lists(ctx, args)
    if _has(command, "model"):
        _explain_files(ctx, args, files=files, extra=extra)
    if extra and not taken:
        word = extra[0]
        flags = [f"{flag} {word}" for flag in _flags_for(word, command)]
        if ("--resume", word) in zip(args, args[1:], strict=False):  # which takes no value
            flags = [f"--out {word} --resume"]
        elif setting := _setting_before(word, args):
            value = next((each.lstrip("=") for each in extra if each.strip("=")), "…")
            flags = [f"--set {setting}={value}"]
        said = f"found {word!r} alone; expected options; say {' or '.join(flags)}"
        raise typer.BadParameter(said, ctx=ctx)
    needs_out = any(each.name == "out" and each.required for each in command.params)
    words = [word for name in taken for word in _as_list(given.get(name or ""))]
    if needs_out and "out" not in given and len(words) > 1:
        said = f"--out is missing; say --out {words[-1]}, if the result is to go there"
        raise typer.BadParameter(said, ctx=ctx)
    if "arch" in given and any(each.required and each.name not in given for each in command.params):
        from charlm.presets import preset

        preset(given["arch"])


def _names_a_file(parameter: Any) -> bool:
    """Whether its value is a path; that of score's --out is read as text, since `DIR/` is one."""
    return "Path" in str(parameter.type_descriptor.annotation) or parameter.name == "out"


def _flags_for(word: str, command: TyperCommand) -> list[str]:
    """The options that a word may lack; for a number others than for a name."""
    flags = {each.name: each.opts[0] for each in command.params}
    numbers = [flags[name] for name in ("n", "epochs") if name in flags]
    if word.isdecimal() and numbers:
        return numbers
    return [flags[name] for name in ("arch", "data", "model", "out") if name in flags]


def _setting_before(word: str, args: list[str]) -> str:
    """The name in `--set NAME word` or `--set NAME= word`; "" if the word stands elsewhere."""
    for flag, name, value in zip(args, args[1:], args[2:], strict=False):
        if flag == "--set" and value == word and "=" not in name.rstrip("="):
            return name.rstrip("=")
    return ""


def _explain_lists(ctx: Any, args: list[str]) -> None:
    """Raises BadParameter for lmplz's `--prune 0 0 1`: the parser takes 0 and 1 for files."""
    files = {flag for each in ctx.command.params if _names_a_file(each) for flag in each.opts}
    for place, flag in enumerate(args):
        if flag in LISTS and flag not in files:  # the weights of `score` stand in a file
            behind = args[place + 1 :]
            numbers = list(takewhile(lambda each: each.replace(".", "", 1).isdecimal(), behind))
            if len(numbers) > 1 and not os.path.exists(numbers[1]):
                said = f"found {' '.join([flag, *numbers])}; expected commas: {flag} "
                raise typer.BadParameter(said + ",".join(numbers), ctx=ctx)


def _explain_files(ctx: Any, args: list[str], *, files: list[str], extra: list[str]) -> None:
    """Raises BadParameter for a run or a sentence where a file is expected."""
    from charlm.run.folder import EXPORT, RUN

    # Not Path.exists, which raises where a sentence is too long for a name.
    words = [*files, *extra]
    for word in words:
        if any(os.path.isfile(os.path.join(word, name)) for name in (RUN, EXPORT)):
            said = f"found the model {word!r} without its option; say --model {word}"
            raise typer.BadParameter(said, ctx=ctx)
    sentence = " ".join(words)
    # More than a dot: to Python 3.14 a full stop is a suffix.
    may_be_files = "-" in words or any(os.path.exists(w) or Path(w).suffix[1:] for w in words)
    if files and " " in sentence and not may_be_files:
        others = shlex.join(each for each in args if each not in words)
        piped = f"echo {shlex.quote(sentence)} | {ctx.command_path} - {others}".rstrip()
        said = f"{sentence!r}: no such file; expected one; a sentence comes so: {piped}"
        raise typer.BadParameter(said, ctx=ctx)


def _has(command: TyperCommand, name: str) -> bool:
    return any(each.name == name for each in command.params)


def _as_list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())
