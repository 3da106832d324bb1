// The later sections, the colours, and the order of it all.

function gates(data) {
  const parts = [];
  for (const layer of data.transform || []) {
    const total = layer.counts.reduce((a, b) => a + b, 0) || 1;
    const n = layer.counts.length;
    const story = `${layer.n_switching} of ${layer.n_dimensions} dimensions are nearly closed (below 0.1) on some word and nearly open (above 0.9) on another${layer.n_switching ? ": there the gate depends on the word" : ""}.`;
    parts.push(el("h3", {}, `Transform gate of highway layer ${layer.layer}`), histogram({
      values: layer.counts.map((count) => count / total), number: layer.layer - 1,
      labels: layer.counts.map((_, bin) => String(+(bin / n).toFixed(3))),
      x: "gate: 0 carries a number on, 1 makes it anew", y: "share of values", isFlat: true,
      caption: `Mean ${layer.mean.toFixed(2)}. ${story}`, alt: `Histogram of the transform gate, mean ${layer.mean.toFixed(2)}. ${story}`,
    }));
  }
  if (data.gate) parts.push(...mixture(data.gate));
  if (parts.length) section("gates", "Gates", ...parts);
}

function mixture(gate) {
  const signed = (value) => (value === null ? "undefined" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`);
  const labels = gate.ranks.map((rank) => Math.round(rank).toLocaleString("en"));
  const story = `Spearman’s ρ of gate and frequency rank: ${signed(gate.gate_rank_spearman)} over ${shown(gate.n_words)} words, ${signed(gate.gate_rank_spearman_frequent)} over the 1,000 most frequent. <unk> has ${shown(gate.unk_gate)}, above ${gate.unk_percentile.toFixed(0)} % of the words; the mean is ${shown(gate.gate_mean)}.`;
  return [
    el("h3", {}, "How much of a word’s vector comes from its spelling"),
    el("p", { id: "gate-story" }, story),
    lineChart({
      labels, series: [{ name: "median gate", number: 0, values: gate.gates }],
      isLog: true, x: "frequency rank", y: "gate", alt: `Median gate by frequency rank. ${story}`,
    }),
    lineChart({
      labels, zero: true, x: "frequency rank", y: "mean norm",
      series: [
        { name: "vector of the word", number: 0, values: gate.word_norms },
        { name: "vector of the spelling", number: 1, values: gate.char_norms },
      ],
      caption: `A small gate need not say that spelling counts little: its vector may be longer. Means: word ${shown(gate.word_norm_mean)}, spelling ${shown(gate.char_norm_mean)}.`,
      alt: "Mean norms of the vectors of words and of spellings by frequency rank.",
    }),
  ];
}

function bands(data, key, id, title, x, hidden) {
  const { systems } = data[key];
  const kept = data[key].bands.filter(([name]) => name !== hidden);
  const series = systems.map((name, number) => ({
    name, number, values: kept.map((band) => band[3][number]), isBase: number === systems.length - 1,
  }));
  const worse = series.map((each) => ({
    ...each, values: each.values.map((value, index) => {
      const first = series[0].values[index];
      return value === null || first === null ? null : 100 * (value / first - 1);
    }),
  }));
  const labels = kept.map(([name]) => name);
  const apart = ["</s>", "<unk>"];
  const hasTable = true;
  const tokens = data[key].bands.map(([name, n, share, ppls]) => [name, shown(n), `${(100 * share).toFixed(2)} %`, ...ppls.map(shown)]);
  section(id, title,
    lineChart({ labels, series, hasTable, isLog: true, apart, x, y: "perplexity", alt: `${title}: perplexity of ${systems.join(", ")}.` }),
    el("h3", {}, "How much higher than ", bdi(systems[0]), ", in per cent"),
    lineChart({ labels, series: worse, hasTable, apart, x, y: "% higher", alt: `${title}: per cent above ${systems[0]}.` }),
    el("details", {}, el("summary", {}, "The numbers"), table([x, "tokens", "share", ...systems], tokens)));
}

/** Of a sentence, by its first word that has one; the words themselves are kept apart from it. */
function directionOf(words) {
  const first = words.find((word) => /\p{L}/u.test(word)) || "";
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(first) ? "rtl" : "ltr";
}

function sentences(data) {
  const heat = (value) => Math.max(0, Math.min(5, Math.floor(-value)));
  const line = ({ words, log10_probs: values, line: number, mean }) => el("p", { class: "sentence", dir: directionOf(words) },
    ...[...words, "</s>"].flatMap((word, index) => [
      el("span", { class: `word h${heat(values[index])}`, title: `log10 P = ${values[index].toFixed(3)}` },
        bdi(word), el("small", {}, values[index].toFixed(1))), " "]),
    el("span", { class: "soft where", dir: "ltr" }, `line ${shown(number)}, mean ${mean.toFixed(2).replace("-", "−")}`));
  const toggle = el("button", { type: "button", "aria-pressed": "false" }, "Show the numbers");
  const scale = [0, 1, 2, 3, 4, 5].map((n) => el("span", { class: `word h${n}` }, ["0", "−1", "−2", "−3", "−4", "≤ −5"][n]));
  const node = section("sentences", "Hardest and easiest sentences",
    el("p", {}, "Of 5 to 40 words, by mean log10 probability of their tokens, state carried. The darker a word, the less it was expected; log10 P from ", ...scale, "."),
    toggle, el("h3", {}, "Hardest"), ...data.sentences.hardest.map(line),
    el("h3", {}, "Easiest"), ...data.sentences.easiest.map(line));
  toggle.addEventListener("click", () => {
    const isOn = node.classList.toggle("numbers");
    toggle.setAttribute("aria-pressed", String(isOn));
  });
}

function card(data) {
  const body = el("tbody", {}, ...data.card.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name),
    el("td", {}, name === "command" ? el("code", {}, value) : bdi(value)))));
  section("card", "Model card", el("table", { class: "card" }, body));
}

function missing(data) {
  const items = data.missing.map(({ section: name, reason }) => el("li", {}, el("strong", {}, name), ": ", bdi(reason)));
  section("missing", "What is not here", el("ul", {}, ...items));
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

/** The system's colours until the button is pressed, then the other ones, and back. */
function themes() {
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const refresh = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `change to ${isDark() ? "light" : "dark"} colours`);
    THEMED.forEach((paintAnew) => paintAnew());
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    refresh();
  });
  system.addEventListener("change", refresh);
  refresh();
}

function build() {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.getElementById("title").append(bdi(data.title));
  document.getElementById("lead").append(bdi(lead(data)));
  document.getElementById("contents").append(el("ul", {}));
  if (data.results) results(data);
  if (data.curves) curves(data);
  if (data.neighbours) neighbours(data);
  maps(data);
  gates(data);
  if (data.bands) bands(data, "bands", "bands", "By frequency", "occurrences in the training text", "");
  if (data.positions) bands(data, "positions", "positions", "By position in the sentence", "position", "</s>");
  if (data.sentences) sentences(data);
  if (data.card) card(data);
  if (data.missing.length) missing(data);
  document.getElementById("foot").append(`Made by charlm ${data.charlm}. This page is whole: it asks nothing of any server.`);
  themes();
}

build();
