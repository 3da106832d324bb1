"""The likeliest next words under several models."""

from charlm.api.load_model import load
from charlm.api.loaded_models import NextWords, NgramLanguageModel
from charlm.api.next_options import NextOptions
from charlm.interface.options import keywords, require_cpu, require_one_stdin, several
from charlm.ngram.files.load import listed_ngram
from charlm.run.which import which_run


@keywords(NextOptions)
def next_words(options: NextOptions) -> tuple[NextWords, ...]:
    """The `k` likeliest words after the beginning of a sentence, under each model.

    >>> (found,) = charlm.next_words("the cat", model="exp/first", k=3)
    >>> len(found.likeliest)
    3

    Raises:
        ConfigError: no model, no such device, a device without a run, or a binary of KenLM's.
        DataError: a run or a file that is not what was expected; a line end, `<s>` or `</s>` among
            the words; a model that gives no numbers.
    """
    beginning = options.words if isinstance(options.words, str) else " ".join(options.words)
    runs, lms = several(options.model), several(options.lm)
    require_one_stdin(lms)
    if not runs and not lms:
        runs = [which_run(None)]
    if not runs:
        require_cpu(options)
    found = [load(path, device=options.device).next_words(beginning, k=options.k) for path in runs]
    read = " ".join(found[0].words) if found else beginning
    of_lms = (NgramLanguageModel(listed_ngram(path)) for path in lms)
    return (*found, *(each.next_words(read, k=options.k) for each in of_lms))
