// The later sections, and the order of it all.

function gates(data) {
  const parts = [];
  if (data.transform) parts.push(...transform(data.transform));
  if (data.gate) parts.push(...mixture(data.gate));
  if (!parts.length) return;
  section("gates", "Gates",
    "a gate is a number from 0 (closed) to 1 (open) by which another number is let through; when to open it the model has learned.",
    ...parts);
}

function transform(layers) {
  const stories = layers.map((layer) => `Layer ${layer.layer}: mean ${layer.mean.toFixed(2)}. ${layer.n_switching} of ${layer.n_dimensions} dimensions are nearly closed (below 0.1) on some word and nearly open (above 0.9) on another${layer.n_switching ? ": there the gate depends on the word" : ""}.`);
  const n = layers[0].counts.length;
  const share = ({ counts }, bin) => `${(100 * counts[bin] / (counts.reduce((a, b) => a + b, 0) || 1)).toFixed(2)} %`;
  const rows = layers[0].counts.map((_, bin) => [`${+(bin / n).toFixed(3)} to ${+((bin + 1) / n).toFixed(3)}`, ...layers.map((layer) => share(layer, bin))]);
  const header = ["gate", ...layers.map(({ layer }) => `layer ${layer}, share of values`)];
  return [
    el("h3", {}, "Transform gate of the highway"),
    el("p", {}, "A highway layer hands a number on as it is (gate 0), or puts a newly computed one in its place (gate 1). Where bars stand at both ends, some are handed on and others made anew."),
    chart("transform", `Histogram of the transform gate. ${stories.join(" ")}`, stories.join(" "), table(header, rows)),
  ];
}

function mixture(gate) {
  const signed = (value) => (value === null ? "undefined" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`);
  const story = `Spearman’s ρ of gate and frequency rank: ${signed(gate.gate_rank_spearman)} over ${shown(gate.n_words)} words, ${signed(gate.gate_rank_spearman_frequent)} over the ${shown(gate.n_frequent)} most frequent. <unk> has ${shown(gate.unk_gate)}, above ${shown(gate.unk_percentile)} % of the words; the mean is ${shown(gate.gate_mean)}.`;
  const caption = `A small gate need not say that spelling counts little: its vector may be longer. Means: word ${shown(gate.word_norm_mean)}, spelling ${shown(gate.char_norm_mean)}.`;
  const columns = [gate.gates, gate.word_norms, gate.char_norms];
  const rows = gate.ranks.map((rank, bin) => [shown(Math.round(rank)), ...columns.map((values) => shown(values[bin]))]);
  const header = ["frequency rank", "median gate", "mean norm of words", "of spellings"];
  return [
    el("h3", {}, "How much of a word’s vector comes from its spelling"),
    el("p", {}, "At gate 0 a vector is the word’s own, at 1 that of its spelling. Spearman’s ρ is 1 where every rarer word has a larger gate, −1 where every rarer one has a smaller, 0 where there is no such order."),
    el("p", { id: "gate-story" }, story),
    chart("gate", `Median gate by frequency rank, and mean norms of the vectors of words and of spellings. ${story}`, caption, table(header, rows)),
  ];
}

/** The band `hidden` stands in the table alone, as the picture leaves it out. */
function bands(data, key, { title, x, how, hidden = "" }) {
  const { systems, bands: listed } = data[key];
  const drawn = listed.filter(([name]) => name !== hidden);
  const rows = listed.map(([name, n, share, ppls]) => [name, shown(n), `${(100 * share).toFixed(2)} %`, ...ppls.map(shown)]);
  const alt = `${title}: perplexity of ${systems.join(", ")}; below, how much lower or higher than ${systems[0]}.`;
  const stories = systems.slice(1).map((system, index) => span(system, drawn.map(([name, , , ppls]) => ({ name, value: ppls[index + 1], first: ppls[0] })), systems[0]));
  section(key, title, how, chart(key, alt, stories.join(" "), table([x, "tokens", "share", ...systems], rows)));
}

/** "KN-5 is 80 % lower than char-small at 1-9, 52 % higher at 1000-9999.": where a system is best and worst. */
function span(system, bands, first) {
  const told = bands.filter((band) => against(band.value, band.first)).sort((a, b) => a.value / a.first - b.value / b.first);
  if (!told.length) return "";
  const [best, worst] = [told[0], told[told.length - 1]];
  const than = (band) => against(band.value, band.first);
  return `${system} against ${first}: at best ${than(best)} (${best.name}), at worst ${than(worst)} (${worst.name}).`;
}

function sentences(data) {
  const heat = (value) => Math.max(0, Math.min(5, Math.floor(-value)));
  const minus = (number) => number.replace("-", "−");
  const line = ({ words, log10_probs: values, line: number, mean }) => el("p", { class: "sentence", dir: directionOf(words) },
    ...[...words, "</s>"].flatMap((word, index) => [
      el("span", { class: `word h${heat(values[index])}`, title: `log10 P = ${minus(values[index].toFixed(3))}` },
        bdi(word), el("small", { dir: "ltr" }, minus(values[index].toFixed(1)))), " "]),
    el("span", { class: "soft where", dir: "ltr" }, `line ${shown(number)}, mean ${minus(mean.toFixed(2))}`));
  const toggle = el("button", { type: "button", "aria-pressed": "false" }, "Show the numbers");
  const scale = [0, 1, 2, 3, 4, 5].map((n) => el("span", { class: `word h${n}` }, ["0", "−1", "−2", "−3", "−4", "≤ −5"][n]));
  const node = section("sentences", "Hardest and easiest sentences",
    "the stronger a word’s colour, the less the model expected it after the words before it. −1 is a chance of one in 10, −2 one in 100, −3 one in 1,000.",
    el("p", {}, "Sentences of 5 to 40 words, or of 2 to 40 where no sentence has five, chosen by the mean of log10 P, the probability’s logarithm; </s> is the end of a sentence, <unk>:word a word that the model does not have: the number is that of <unk>. ", ...scale),
    toggle, ...Object.entries({ Hardest: data.sentences.hardest, Easiest: data.sentences.easiest })
      .flatMap(([kind, lines]) => (lines.length ? [el("h3", {}, kind), ...lines.map(line)] : [])));
  toggle.addEventListener("click", () => {
    const isOn = node.classList.toggle("numbers");
    toggle.setAttribute("aria-pressed", String(isOn));
  });
}

/** Perplexities compare down a column, and per cent of Kneser-Ney along a row. */
function across(data) {
  const { state, columns, rows } = data.table;
  const sizes = { V: "n_words", C: "n_characters", M: "n_morphs", T: "n_train_tokens", tokens: "n_tokens" };
  const signed = (value, decimals) => {
    const size = Math.abs(value).toFixed(decimals);
    return `${value < 0 && Number(size) !== 0 ? "−" : "+"}${size}`;
  };
  const cell = (each) => {
    if (each === null) return "–";
    const ppl = shown(each.ppl) + (each.deviation === null ? "" : `±${each.deviation.toFixed(2)}`);
    if (each.percent === null) return ppl;
    // As in `charlm table`: no end of an interval is shown as 0 that is none.
    const isZero = (end, decimals) => end && Number(end.toFixed(decimals)) === 0;
    const decimals = [1, 2, 3, 4, 5].find((n) => ![each.low, each.high].some((end) => isZero(end, n))) ?? 6;
    const ends = each.low === null ? "" : `; ${signed(each.low, decimals)} to ${signed(each.high, decimals)}`;
    return `${ppl} (${signed(each.percent, decimals)} %${ends})`;
  };
  const body = [
    ...Object.entries(sizes).map(([name, key]) => [name, ...columns.map((column) => shownOr(column[key], "–"))]),
    ...rows.map(([name, cells]) => [name, ...cells.map(cell)]),
  ];
  const signatures = rows.flatMap(([name, cells]) => cells.flatMap((each, column) => (each && each.signature
    ? [el("li", {}, bdi(`${name} on ${columns[column].name}`), ": ", el("code", {}, each.signature))] : [])));
  const baselines = [...new Set(columns.map(({ baseline }) => baseline))].join(", ");
  const drawn = rows.some(([, cells]) => cells.some((each) => each !== null && each.low !== null));
  const isSeveral = rows.some(([, cells]) => cells.some((each) => each !== null && each.deviation !== null));
  section("table", "Across data sets",
    el("span", {}, `perplexity of the measured texts, state ${state}; in brackets the change from `, bdi(baselines),
      ` in per cent${drawn ? ", with its 95 % interval" : ""}${isSeveral ? "; NAME… and ±: mean and standard deviation of trainings that differ in their seed alone" : ""}. V words, C characters and M morphs of the vocabulary, T tokens of train. Perplexities do not compare across data sets.`),
    table(["", ...columns.map(({ name }) => name)], body),
    el("details", {}, el("summary", {}, "Signatures of the table"), el("ul", {}, ...signatures)));
}

function card(data) {
  const body = el("tbody", {}, ...data.card.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name),
    el("td", {}, name === "command" ? el("code", {}, value) : bdi(value)))));
  section("card", "Model card",
    "what the model is, from which text and by which command it was made; with the same text the command makes it again.",
    el("table", { class: "card" }, body));
}

function missing(data) {
  const items = data.missing.map(({ section: name, reason }) => el("li", {}, el("strong", {}, name), ": ", bdi(reason)));
  section("missing", "What is not here", "what such a page can show and this one does not, each with the reason.", el("ul", {}, ...items));
}

function lead(data) {
  const told = [data.arch];
  const rows = Object.fromEntries(data.card || []);
  if (rows.parameters) told.push(`${rows.parameters.split(" ")[0]} parameters`);
  if (rows.words) told.push(`${rows.words} words`);
  const mine = data.results && data.results.rows[0];
  if (mine) told.push(`perplexity ${shown(mine.ppl)} on ${data.results.text}`);
  else if (data.curves) told.push(`validation perplexity ${shown(data.curves[0].kept)}`);
  if (data.runs.length > 1) told.push(`beside ${data.runs.slice(1).join(", ")}`);
  return told.join(" · ");
}

function build() {
  const data = JSON.parse(byId("data").textContent);
  byId("title").append(bdi(data.title));
  byId("lead").append(bdi(lead(data)));
  byId("about").append("A language model gives every next word of a text a probability. This page shows how well ", bdi(data.title), " does so, and what it has learned.");
  byId("contents").append(el("ul", {}));
  if (data.results) results(data);
  if (data.table) across(data);
  if (data.curves) curves(data);
  if (data.neighbours) neighbours(data);
  maps(data);
  gates(data);
  if (data.bands) bands(data, "bands", {
    title: "By frequency", x: "occurrences in the training text",
    how: `the end of a sentence, </s>, and <unk> stand apart on the left; of the others, rare words stand on the left, frequent ones on the right: the upper lines say how hard they are to predict, the lower ones by how much a line differs from ${data.bands.systems[0]}. Lower is better in both.`,
  });
  if (data.positions) bands(data, "positions", {
    title: "By position in the sentence", x: "position", hidden: "</s>",
    how: "the first word of a sentence stands on the left; a line that falls gains from what the sentence has said so far. Lower is better. The end of a sentence, </s>, stands among the numbers alone.",
  });
  if (data.sentences) sentences(data);
  if (data.card) card(data);
  if (data.missing.length) missing(data);
  byId("foot").append(`Made by charlm ${data.charlm}. This page is whole: it asks nothing of any server.`);
  themes();
}

build();
