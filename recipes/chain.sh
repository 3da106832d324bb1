# Sourced by run.sh of each set, after setup.sh: from a text to a vocabulary, models and tables.
#
# A step whose result is there is not done again, and a stopped training continues. After an
# interruption, or with more presets, the same call therefore does only what is missing.
#
# ARCHS   the presets (word-small morph-small char-small)
# SEED    their seed (1)
# MORPHS  segmentation of the words (sentencepiece:5000; morfessor, if it is installed; none)
# A set gives further options of each step in $prep_options, $vocab_options and the others below.

archs=${ARCHS:-word-small morph-small char-small}
seed=${SEED:-1}
morphs=${MORPHS:-sentencepiece:5000}
prep_options=
vocab_options=
spelled_options=    # of charlm train, for presets that read spelling
pretrained_options= # of charlm train, for presets that are pre-trained
halving_options=    # of charlm train, for presets that halve the rate by valid
table_options=

die() {
  printf 'run: %s\n' "$*" >&2
  exit 1
}

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# keep FILE command ...: writes what the command prints to FILE, once it is complete.
keep() {
  local file=$1
  shift
  printf '\n$ %s > %s\n' "$*" "$file"
  "$@" >"$file.part"
  mv "$file.part" "$file"
}

# is_new FILE OTHER ...: whether FILE exists and no OTHER is newer.
is_new() {
  local file=$1 other
  shift
  [ -f "$file" ] || return
  for other in "$@"; do
    [ ! "$other" -nt "$file" ] || return
  done
}

has_texts() {
  [ -f "$1/train.txt" ] || return
  [ -f "$1/valid.txt" ] && [ -f "$1/test.txt" ] ||
    die "$1: train.txt without valid.txt or test.txt; expected all three; run get.sh again"
}

# require_same_texts SOURCE OUT: what is in OUT already must be of the texts in SOURCE.
require_same_texts() {
  mkdir -p "$2"
  python - "$1" "$2" <<'EOF'
import hashlib, pathlib, sys

source, out = map(pathlib.Path, sys.argv[1:])
if out.samefile(source):
    sys.exit(f"run: {out}: holds the texts, and results would lie among them; name another folder with OUT")
found = ""
for name in ("train.txt", "valid.txt", "test.txt"):
    with open(source / name, "rb") as file:
        found += f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n"
kept = out / "texts.sha256"
if not kept.exists() or [*out.iterdir()] == [kept]:  # no result is there yet
    kept.write_text(found)
elif kept.read_text() != found:
    sys.exit(f"run: {out}: its results are of other texts than {source}; name another folder with OUT")
EOF
}

# make_corpus FOLDER OUT: sets $corpus, FOLDER itself or what prep makes of FOLDER/raw.
make_corpus() {
  local folder=$1 out=$2
  case $folder in -*) folder=./$folder ;; esac # not to be read as an option of cp or charlm
  corpus=$folder
  if has_texts "$folder"; then
    require_same_texts "$folder" "$out"
    return
  fi
  has_texts "$folder/raw" ||
    die "$folder: no train.txt, valid.txt and test.txt in it or in its raw/; run get.sh first"
  require_same_texts "$folder/raw" "$out"
  corpus=$out/$(basename -- "$folder")
  # shellcheck disable=SC2086  # several words or none
  [ -f "$corpus/corpus.json" ] ||
    run charlm prep "$folder/raw/train.txt" --valid "$folder/raw/valid.txt" \
      --test "$folder/raw/test.txt" --out "$corpus" $prep_options
}

# require_numbers WHAT EACH ...: each must be a number from 1, or all.
require_numbers() {
  local what=$1 each
  shift
  for each in "$@"; do
    case $each in
      all) ;;
      *[!0-9]* | 0*) die "$what: found '$each'; expected numbers from 1, or all" ;;
    esac
  done
}

# cut_corpus TOKENS WHOLE FOLDER: sets $corpus, FOLDER with the first sentences of WHOLE's train.txt:
# at most TOKENS tokens, each </s> counted.
cut_corpus() {
  local tokens=$1 whole=$2
  corpus=$3
  mkdir -p "$corpus"
  cp "$whole/valid.txt" "$whole/test.txt" "$corpus/"
  [ ! -f "$whole/corpus.json" ] || cp "$whole/corpus.json" "$corpus/" # its text rules, for raw text
  [ ! -f "$corpus/train.txt" ] || return 0
  python - "$tokens" "$whole/train.txt" >"$corpus/train.txt.part" <<'EOF'
import sys

n_left = float("inf") if sys.argv[1] == "all" else int(sys.argv[1])
with open(sys.argv[2], "rb") as file:
    for line in file:
        n_left -= len(line.split()) + 1
        if n_left < 0:
            break
        sys.stdout.buffer.write(line)
EOF
  mv "$corpus/train.txt.part" "$corpus/train.txt"
}

# make_vocabulary OUT [options of charlm vocab]: of $corpus; what is there already must have these.
make_vocabulary() {
  local out=$1 asked made
  shift
  asked="charlm vocab${*:+ $*}"
  if [ ! -f "$out/vocab.json" ]; then
    run charlm vocab --data "$corpus" --out "$out/vocab.json" "$@"
    printf '%s\n' "$asked" >"$out/vocab.how"
  elif [ -f "$out/vocab.how" ]; then
    made=$(cat "$out/vocab.how")
    [ "$made" = "$asked" ] ||
      die "$out/vocab.json: made by '$made', not by '$asked'; name another folder with OUT"
  fi
}

# require_same RUN [options of charlm train]: what is trained already must have $seed and these.
require_same() {
  python - "$seed" "$@" <<'EOF'
import json, pathlib, re, sys

def plain(value):
    text = re.sub(r"[][ ]", "", str(value)).lower()  # a list is [3, 4], or 3,4
    try:
        return float(text)
    except ValueError:
        return text

seed, run, *options = sys.argv[1:]
words = [word for each in options for word in (each.split("=", 1) if each[:2] == "--" else [each])]
asked = {"seed": seed}
for option, value in zip(words, words[1:]):
    if option in ("--seed", "--epochs"):
        asked["seed" if option == "--seed" else "recipe.epochs"] = value
    elif option == "--set" and "=" in value:
        asked.update([value.split("=", 1)])
found = json.loads(pathlib.Path(run, "run.json").read_text(encoding="utf-8"))
for name, value in asked.items():
    has = found if name == "seed" else found.get("settings", {})
    for part in name.split("."):
        has = has.get(part) if isinstance(has, dict) else None
    if has is not None and not isinstance(has, dict) and plain(has) != plain(value):
        name = name.removeprefix("recipe.")
        sys.exit(f"run: {run}: trained with {name} {has}, not {value}; name another folder with OUT")
EOF
}

same_bytes() {
  python -c 'import filecmp, sys; sys.exit(not filecmp.cmp(*sys.argv[1:], shallow=False))' "$@"
}

# train_all OUT [options of charlm train]: sets $runs.
train_all() {
  local out=$1 arch resume more
  shift
  runs=()
  for arch in $archs; do
    more=
    case $arch in miyamoto-word) ;; *char* | miyamoto-* | *-modern) more=$spelled_options ;; esac
    case $arch in *-pretrained) more="$more $pretrained_options" ;; esac
    case $arch in *-modern | miyamoto-* | zaremba-*) ;; *) more="$more $halving_options" ;; esac
    resume=
    [ ! -f "$out/$arch/run.json" ] || resume=--resume
    # A training that ends removes its encoded text.
    # shellcheck disable=SC2086  # several words or none
    if [ -z "$resume" ] || [ -e "$out/$arch/encoded" ]; then
      run charlm train --arch "$arch" --seed "$seed" --data "$corpus" --vocab "$out/vocab.json" \
        --out "$out/$arch" $resume $more "$@"
    else
      # shellcheck disable=SC2086  # several words or none
      require_same "$out/$arch" $more "$@"
    fi
    [ ! -e "$out/$arch/encoded" ] ||
      die "$out/$arch: stopped before its end; call this again to go on"
    runs+=("$out/$arch")
  done
}

# The six most frequent words of six letters or more; their neighbours are informative in any language.
frequent_words() {
  python - "$1" <<'EOF'
import json, sys

from charlm.text.corpus.normalisation.normalisation import is_of_letters

with open(sys.argv[1], encoding="utf-8") as file:
    words = json.load(file)["words"]
sys.stdout.reconfigure(encoding="utf-8")
for word in [word for word in words if len(word) >= 6 and is_of_letters(word)][:6]:
    print(word)
EOF
}

# compare OUT: compares its presets with Kneser-Ney, again if one was trained since or the presets
# have changed; without presets it measures Kneser-Ney alone.
compare() {
  local out=$1 arch weights=() models=()
  for arch in $archs; do
    weights+=("$out/$arch/model.safetensors")
    models+=(--model "$out/$arch")
  done
  [ ${#models[@]} -gt 0 ] || models=(--vocab "$out/vocab.json")
  if ! is_new "$out/compare-kn.json" "$out/vocab.json" ${weights[@]+"${weights[@]}"} ||
    [ "$(cat "$out/archs")" != "$archs" ]; then
    keep "$out/compare-kn.json" charlm compare-kn --data "$corpus" "${models[@]}" --json
    printf '%s\n' "$archs" >"$out/archs"
  fi
}

# chain FOLDER OUT [options of charlm train]: everything for one data set, into OUT.
chain() {
  local folder=${1%/} out=$2 corpus runs word words vocab_options=$vocab_options
  shift 2
  make_corpus "$folder" "$out"
  [ "$morphs" = none ] || vocab_options="$vocab_options --morphs $morphs"
  # shellcheck disable=SC2086  # several words or none
  make_vocabulary "$out" $vocab_options
  train_all "$out" "$@"
  is_new "$out/kn4.json" "$out/vocab.json" ||
    keep "$out/kn4.json" charlm compare-kn --data "$corpus" --vocab "$out/vocab.json" --order 4 --json
  compare "$out"
  is_new "$out/report.html" "$out/compare-kn.json" ||
    run charlm report "${runs[${#runs[@]} - 1]}" "${runs[@]:0:${#runs[@]}-1}" --data "$corpus" \
      --table "$out/compare-kn.json" --table "$out/kn4.json" --out "$out/report.html"
  words=()
  while IFS= read -r word; do words+=("$word"); done < <(frequent_words "$out/vocab.json")
  is_new "$out/nn.txt" "$out/compare-kn.json" || [ ${#words[@]} -eq 0 ] ||
    keep "$out/nn.txt" charlm nn "${words[@]}" --model "${runs[${#runs[@]} - 1]}"
}

# print_table OUT ...: prints the table of all data sets, at the very end. For several sets, which lie
# in one folder, it also writes a page there: the table, and the last model of the last set.
print_table() {
  local out files=() tables=() page
  for out in "$@"; do
    files+=("$out/compare-kn.json" "$out/kn4.json")
    tables+=(--table "$out/compare-kn.json" --table "$out/kn4.json")
  done
  page=$(dirname -- "$1")/report.html
  [ $# -eq 1 ] || is_new "$page" "${files[@]}" ||
    run charlm report "$out/${archs##* }" "${tables[@]}" --out "$page"
  # shellcheck disable=SC2086  # several words or none
  run charlm table "${files[@]}" $table_options
}
