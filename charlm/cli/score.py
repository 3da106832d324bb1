"""`charlm score`: rescoring n-best lists, lattices and sentences.

The list goes to stdout unless --out says otherwise, and then everything that is told about it goes
to stderr, so that the command is a filter.
"""

from collections.abc import Callable

import typer

from charlm.cli import options, output, score_output
from charlm.cli import score_options as asked
from charlm.cli.voices import is_first, one_voice


def score(
    *,
    lists: asked.Lists = None,
    model: asked.Models = None,
    lm: asked.Lms = None,
    mix: asked.Mix = None,
    mix_weights: asked.MixWeights = None,
    old_lm: asked.OldLm = None,
    format: asked.Format = "auto",
    columns: asked.Columns = "",
    features: asked.Features = None,
    on_nan: asked.OnNan = "error",
    allow_missing: asked.AllowMissing = False,
    length_penalty: asked.LengthPenalty = 0.0,
    encoding: options.Encoding = "utf-8",
    max_line: asked.MaxLine = 64,
    out: asked.Out = "-",
    write: asked.Write = "scored",
    sort: asked.Sort = False,
    dedup: asked.Dedup = "none",
    weights: asked.WeightsFile = None,
    weight: asked.Weight = None,
    refs: asked.Refs = None,
    test_refs: asked.TestRefs = None,
    tune: asked.Tune = None,
    metric: asked.Metric = "wer",
    tuned: asked.Tuned = "",
    ranges: asked.Ranges = None,
    restarts: asked.Restarts = 20,
    folds: asked.Folds = 5,
    seed: asked.Seed = 0,
    allow_test_tuning: asked.AllowTestTuning = False,
    context: asked.Context = "none",
    recordings: asked.Recordings = asked.RECORDING,
    explain: asked.Explain = None,
    open_vocabulary: asked.OpenVocabulary = False,
    unnormalised: asked.Unnormalised = False,
    lower: asked.Lower = False,
    raw: asked.Raw = False,
    beam: asked.Beam = 16.0,
    recombine: asked.Recombine = 4,
    n_best: asked.NBest = 100,
    words_txt: asked.Symbols = None,
    memory: asked.Memory = 1024,
    at_once: asked.AtOnce = 4096,
    serve: asked.Serve = False,
    line_buffered: asked.LineBuffered = False,
    device: options.Device = "auto",
    precision: options.Precision = "fp32",
    threads: options.Threads = None,
    gpus: options.Gpus = None,
    processes: options.Processes = None,
    as_json: options.Json = False,
) -> None:
    """Score n-best lists, lattices or sentences by models, and find the best hypotheses.

    The lists come out as they came in, with a score `charlm` more, that of the first model, or the
    best first, or the best alone (--write); lattices with new language scores, for decoders, which
    find the same best paths at the scales that are told. A total is the weighted sum of a list's
    features and of the models' scores, all in nats; weights come from --weights, --weight or
    --tune, which finds them on other lists.

    \b
    charlm score lists.tsv --model exp/first --write ranked --out ranked.tsv
    """
    chosen = {name: value for name, value in locals().items() if name != "as_json"}
    from charlm.scoring.rescoring.score import score as score_lists
    from charlm.scoring.rescoring.score_job import written_encoding

    has_lists = (serve or lists is not None) and explain is None and write != "none"
    to_stdout = has_lists and out == "-"
    if as_json and to_stdout:
        raise typer.BadParameter("--json: the lists go to standard output; give --out FILE")
    if to_stdout:
        chosen["out"] = _stdout(line_buffered or serve, encoding=written_encoding(write, encoding))
    elif out == "-":
        chosen["out"] = None
    for name in ("model", "lm", "features", "weight", "ranges"):
        chosen[name] = chosen[name] or ()
    with one_voice():
        result = score_lists(**chosen)
    if not is_first():
        return
    for line in score_output.warnings(result):
        output.say(line)
    if as_json:
        output.write_json(result.to_dict())
    elif result.explanation is not None:
        score_output.tell_why(result.explanation)
    else:
        score_output.tell(result, output.say if to_stdout else output.write)


def _stdout(line_buffered: bool, *, encoding: str) -> Callable[[str], None]:
    is_encoded = False

    def write(text: str) -> None:
        nonlocal is_encoded
        if not is_encoded:  # by now the library has said whether there is such an encoding
            output.encode_stdout(encoding)
            is_encoded = True
        output.write_exactly(text)
        if line_buffered:
            output.flush()

    return write
