// The sections of the page, from the data in it.

function shown(value) {
  if (value === null) return "undefined";
  const size = Math.abs(value);
  if (size >= 1e15) return value.toExponential(2); // no count: a perplexity beyond measure
  if (size >= 1000 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return size >= 1 ? value.toFixed(2) : Number(value.toPrecision(3)).toString();
}

function shownOr(value, nothing) {
  return value === null ? nothing : shown(value);
}

const NUMERIC = /^[−\-–]?[\d.,]*( %| n-grams)?$/;

function textOf(cell) {
  return typeof cell === "string" ? cell : cell.textContent;
}

function table(header, rows, attributes = {}) {
  const isNumber = header.map((_, column) => column > 0 && rows.every((row) => NUMERIC.test(textOf(row[column]))));
  const cells = (row, tag) => row.map((cell, column) => {
    const isHead = tag === "th" || column === 0;
    const scope = tag === "th" ? { scope: "col" } : { scope: "row" };
    const content = typeof cell === "string" ? bdi(cell) : cell;
    return el(isHead ? "th" : "td", { ...(isHead ? scope : {}), class: isNumber[column] ? "number" : "" }, content);
  });
  const head = el("thead", {}, el("tr", {}, ...cells(header, "th")));
  const body = el("tbody", {}, ...rows.map((row) => el("tr", {}, ...cells(row, "td"))));
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table" }, el("table", attributes, head, body));
  const hint = el("p", { class: "soft", hidden: "" }, "The table is wider than the window: it scrolls to the right →");
  new ResizeObserver(() => {
    const isWider = scroll.scrollWidth > scroll.clientWidth + 1;
    hint.hidden = !isWider;
    scroll.classList.toggle("wider", isWider);
  }).observe(scroll);
  return el("div", {}, hint, scroll);
}

/** `how` says to someone who sees such a thing for the first time what it means. */
function section(id, title, how, ...content) {
  const node = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title),
    el("p", { class: "how" }, el("strong", {}, "How to read this: "), how), ...content);
  byId("main").append(node);
  const link = el("li", {}, el("a", { href: `#${id}` }, title));
  document.querySelector("#contents ul").append(link);
  return node;
}

function soft(...text) {
  return el("p", { class: "soft" }, ...text);
}

function tip(text, x, y) {
  const node = byId("tip");
  node.replaceChildren(bdi(text));
  node.hidden = false;
  const [width, height] = [node.offsetWidth, node.offsetHeight];
  node.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - width - 4))}px`;
  node.style.top = `${y - height - 12 > 4 ? y - height - 12 : y + 18}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

function results(data) {
  const rows = data.results.rows;
  const best = Math.min(...rows.filter((row) => row.comparable && row.ppl !== null).map((row) => row.ppl));
  const cells = rows.map((row) => [
    row.comparable ? row.name : `${row.name} †`,
    el("span", { class: row.comparable && row.ppl === best ? "best" : "" }, shown(row.ppl)),
    shown(row.ppl_other), shown(row.ppl_known),
    row.bits_per_character === null ? "undefined" : row.bits_per_character.toFixed(4),
    row.n_parameters === undefined ? `${shown(row.n_ngrams)} n-grams` : shown(row.n_parameters),
    shown(row.n_words),
  ]);
  const isCarried = data.results.state === "carried";
  const header = ["", "perplexity", isCarried ? "by sentence" : "in one stream", "without <unk>", "bits/character", "parameters", "words"];
  const signatures = rows.flatMap((row) => row.signatures.map((each) => el("li", {}, bdi(row.name), ": ", el("code", {}, each))));
  section("results", "Perplexity",
    "a perplexity of 50 means that the model was, at each word, as unsure as if it had to guess among 50 equally likely words; lower is better.",
    el("p", {}, "On ", bdi(data.results.text), `: ${shown(data.results.n_sentences)} sentences, ${shown(data.results.n_tokens)} tokens (words, and the end of each sentence). `,
      isCarried
        ? "The first column reads them as one stream, so that a sentence is read in the light of those before it (the state is carried on); “by sentence” begins each one anew. "
        : "The first column begins each sentence anew, as the model was trained; “in one stream” reads a sentence in the light of those before it (the state is carried on). ",
      "A word that the model does not have is <unk>, the unknown word. Bits/character is the same measure by letter. KN-5 is no network: Kneser–Ney counts how often up to five words followed each other in the training text, and is what others are measured against."),
    table(header, cells),
    ...differences(rows),
    ...(rows.some((row) => !row.comparable) ? [soft("† other words: no comparison with the rest.")] : []),
    el("ul", { class: "soft" }, ...data.notes.map((note) => el("li", {}, bdi(note)))),
    el("details", {}, el("summary", {}, "Signatures: what every figure depends on"), el("ul", {}, ...signatures)));
}

/** How much `value` lies above or below `first`, in words; nothing that is not defined. */
function against(value, first) {
  if (value === null || first === null) return "";
  const change = 100 * (value / first - 1);
  const size = Math.abs(change) < 10 ? Math.abs(change).toFixed(1) : shown(Math.round(Math.abs(change)));
  return Number(size) === 0 ? "equal" : `${size} % ${change < 0 ? "lower" : "higher"}`;
}

function differences([first, ...others]) {
  const told = others.filter((row) => row.comparable).map((row) => [row.name, against(row.ppl, first.ppl)]);
  return told.filter(([, how]) => how).map(([name, how]) => el("p", {}, "The perplexity of ", bdi(name), ` is ${how}${how === "equal" ? " to" : " than"} that of `, bdi(first.name), "."));
}

/** The chart of that name, drawn for a wide window and a narrow one, with its numbers as a table. */
function chart(name, alt, caption, numbers) {
  const place = el("div", { class: "chart", role: "img", "aria-label": alt }, byId(`chart-${name}`).content);
  const figure = el("figure", {}, place);
  if (caption) figure.append(el("figcaption", {}, caption));
  figure.append(el("details", {}, el("summary", {}, "The numbers"), numbers));
  return figure;
}

function curves(data) {
  const epochs = [...new Set(data.curves.flatMap((run) => run.epochs))].sort((a, b) => a - b);
  const at = (run, key, epoch) => shownOr(run[key][run.epochs.indexOf(epoch)] ?? null, "–");
  const best = data.curves.map((run) => `${run.name}: best ${shown(run.best)} after epoch ${run.best_epoch}${run.by_sentence ? ", by sentence" : ""}`).join("; ");
  const header = ["epoch", ...data.curves.flatMap(({ name }) => [`${name}, validation`, `${name}, training while learning`])];
  const rows = epochs.map((epoch) => [String(epoch), ...data.curves.flatMap((run) => [at(run, "valid", epoch), at(run, "train", epoch)])]);
  section("curves", "Learning",
    "an epoch is one reading of the whole training text; validation is text that is never learned from, and the best epoch by it is the one that was kept. Where validation rises while training still falls, the model learns by heart.",
    el("p", {}, "In training some of the network’s numbers are switched off at random (dropout), so its perplexity may lie above that of validation."),
    chart("curves", `Perplexity by epoch. ${best}`, best, table(header, rows)));
}

function neighbours(data) {
  const name = {
    "char-cnn": "from its spelling alone",
    highway: "after the highway layers",
    output: "as the model predicts it",
  };
  const read = data.neighbours.taps.findLast(({ tap }) => tap !== "output")?.tap; // the encoder's last
  const told = (tap) => [name[tap], tap === read && "as the model reads it"].filter(Boolean);
  const parts = data.neighbours.taps.flatMap(({ tap, columns }) => [
    el("h3", {}, el("code", {}, tap), ...told(tap).map((each) => `, ${each}`)),
    el("div", { class: "hoods" }, ...columns.filter((column) => column.nearest.length).map((column) => el("div", { class: "hood" },
      el("h4", {}, bdi(column.word), column.known ? "" : " *"),
      el("ol", {}, ...column.nearest.map(([word, similarity]) => el("li", {}, bdi(word), el("span", {}, similarity.toFixed(3)))))))),
  ]);
  const isPartial = data.neighbours.taps.some(({ columns }) => columns.some((column) => !column.nearest.length));
  const hasUnknown = data.neighbours.taps.some(({ columns }) => columns.some((column) => !column.known));
  section("neighbours", "Nearest words",
    "a model knows each word by a list of numbers, its vector; below a word stand those whose vectors point most nearly the same way. 1 is the same direction, 0 is nothing in common (the cosine of the angle).",
    el("p", {}, "The lists differ by the point of the model at which the vectors are taken.", hasUnknown ? " * not in the vocabulary: read by its spelling." : ""),
    ...parts,
    ...(isPartial ? [soft("Where a word is not shown, that point of the model has no vector for its spelling.")] : []));
}

function maps(data) {
  const shared = "Drag or use the arrow keys to move; + and −, or Ctrl and the wheel, to zoom; Enter in the search box zooms to what is marked; 0 shows the whole.";
  const figures = {};
  if (data.ngrams) {
    const map = data.ngrams;
    const counts = map.kind_names.map((kind, number) => `${kind} ${[...map.kinds].filter((each) => Number(each) === number).length.toLocaleString("en")}`);
    figures["Character n-grams"] = () => {
      const figure = scatterMap(map, {
        isNamed: (row) => map.forms[row].length > 2, // letters alone say little
        label: "Mark character n-grams", example: "a piece, as ing}",
        hint: "{ begins a word and } ends one. Type a piece: all n-grams that hold it are marked.",
        alt: `Map of ${map.forms.length} character n-grams in the plane of largest variance, by kind: ${counts.join(", ")}.`,
        describe: (row) => `${map.forms[row]} · ${map.kind_names[map.kinds[row]]}, in ${map.counts[row].toLocaleString("en")} words`,
        caption: `${allOf(map)} n-grams in two words or more, as the character encoder sees them, before any highway layer; ${percent(map.shares)} of the variance. ${shared}`,
      });
      figure.prepend(kindLegend(map.kind_names));
      return figure;
    };
  }
  if (data.words) {
    const map = data.words;
    figures.Words = () => scatterMap(map, {
      label: "Mark a word and its neighbours", example: "a word",
      hint: "Type a word, or click a point: it is marked with its nearest words (by all their numbers, not by place).",
      alt: `Map of ${map.forms.length} words at ${map.tap} in the plane of largest variance.`,
      describe: (row) => `${map.forms[row]} · ${map.counts[row].toLocaleString("en")} times in the training text`,
      caption: `${allOf(map)} words at ${map.tap}, by direction; the plane holds ${percent(map.shares)} of the variance: near neighbours may lie apart. ${shared}`,
    });
  }
  const names = Object.keys(figures);
  if (!names.length) return;
  const place = el("div", {});
  const buttons = names.map((name) => el("button", { type: "button" }, name));
  const drawn = {};
  const show = (name) => {
    drawn[name] = drawn[name] || figures[name]();
    place.replaceChildren(drawn[name]);
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === name)));
  };
  buttons.forEach((button) => button.addEventListener("click", () => show(button.textContent)));
  section("maps", "Maps",
    "each dot is a word, or a piece of words, and near dots have vectors alike, as far as two dimensions can show it. The more one zooms, the more dots have names.",
    el("div", { class: "tools", role: "group", "aria-label": "Which map" }, ...buttons), place);
  show(names[0]);
}

function allOf(map) {
  const [some, all] = [shown(map.forms.length), shown(map.n_all)];
  return some === all ? `All ${all}` : `${some} of ${all}`;
}

function percent(shares) {
  return `${(100 * (shares[0] + shares[1])).toFixed(1)} %`;
}

function kindLegend(kinds) {
  const item = (kind) => el("li", {}, el("span", { class: `swatch ${kind}` }), kind);
  return el("ul", { class: "legend" }, ...kinds.map(item));
}
