// The later sections, the colours, and the order of it all.

function gates(data) {
  const parts = [];
  if (data.transform) parts.push(...transform(data.transform));
  if (data.gate) parts.push(...mixture(data.gate));
  if (parts.length) section("gates", "Gates", ...parts);
}

function transform(layers) {
  const stories = layers.map((layer) => `Layer ${layer.layer}: mean ${layer.mean.toFixed(2)}. ${layer.n_switching} of ${layer.n_dimensions} dimensions are nearly closed (below 0.1) on some word and nearly open (above 0.9) on another${layer.n_switching ? ": there the gate depends on the word" : ""}.`);
  const n = layers[0].counts.length;
  const share = ({ counts }, bin) => `${(100 * counts[bin] / (counts.reduce((a, b) => a + b, 0) || 1)).toFixed(2)} %`;
  const rows = layers[0].counts.map((_, bin) => [`${+(bin / n).toFixed(3)} to ${+((bin + 1) / n).toFixed(3)}`, ...layers.map((layer) => share(layer, bin))]);
  const header = ["gate", ...layers.map(({ layer }) => `layer ${layer}, share of values`)];
  return [
    el("h3", {}, "Transform gate of the highway"),
    chart("transform", `Histogram of the transform gate. ${stories.join(" ")}`, stories.join(" "), table(header, rows)),
  ];
}

function mixture(gate) {
  const signed = (value) => (value === null ? "undefined" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`);
  const story = `Spearman’s ρ of gate and frequency rank: ${signed(gate.gate_rank_spearman)} over ${shown(gate.n_words)} words, ${signed(gate.gate_rank_spearman_frequent)} over the 1,000 most frequent. <unk> has ${shown(gate.unk_gate)}, above ${gate.unk_percentile.toFixed(0)} % of the words; the mean is ${shown(gate.gate_mean)}.`;
  const caption = `A small gate need not say that spelling counts little: its vector may be longer. Means: word ${shown(gate.word_norm_mean)}, spelling ${shown(gate.char_norm_mean)}.`;
  const columns = [gate.gates, gate.word_norms, gate.char_norms];
  const rows = gate.ranks.map((rank, bin) => [shown(Math.round(rank)), ...columns.map((values) => shown(values[bin]))]);
  const header = ["frequency rank", "median gate", "mean norm of words", "of spellings"];
  return [
    el("h3", {}, "How much of a word’s vector comes from its spelling"),
    el("p", { id: "gate-story" }, story),
    chart("gate", `Median gate by frequency rank, and mean norms of the vectors of words and of spellings. ${story}`, caption, table(header, rows)),
  ];
}

function bands(data, key, title, x) {
  const { systems, bands: listed } = data[key];
  const rows = listed.map(([name, n, share, ppls]) => [name, shown(n), `${(100 * share).toFixed(2)} %`, ...ppls.map(shown)]);
  const alt = `${title}: perplexity of ${systems.join(", ")}; below, per cent above ${systems[0]}.`;
  section(key, title, chart(key, alt, "", table([x, "tokens", "share", ...systems], rows)));
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
  if (data.bands) bands(data, "bands", "By frequency", "occurrences in the training text");
  if (data.positions) bands(data, "positions", "By position in the sentence", "position");
  if (data.sentences) sentences(data);
  if (data.card) card(data);
  if (data.missing.length) missing(data);
  document.getElementById("foot").append(`Made by charlm ${data.charlm}. This page is whole: it asks nothing of any server.`);
  themes();
}

build();
