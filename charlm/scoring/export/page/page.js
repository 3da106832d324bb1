// The page: a sentence is typed, its words are coloured by surprisal, and one of them is looked at.

const SHOWN = 10; // next words, and near ones
const STEPS = [2, 4, 6, 9, 12]; // bits, from which on a word is a shade darker
const PAUSE = 60; // milliseconds behind a key before the sentence is read
const AT_ONCE = 100; // milliseconds of reading

const bits = (logProb) => -logProb / Math.LN2;
const shade = (value) => STEPS.filter((step) => value >= step).length;

class Page {
  constructor(model, near) {
    this.model = model;
    this.near = near;
    this.tokens = [];
    this.positions = [model.begun]; // before each token, and before the end
    this.values = []; // bits of each token
    this.chosen = null; // the number of a token; null: the last
    byId("text").addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.refresh(), PAUSE);
    });
    this.refresh();
  }

  /** Read what was typed; what it begins with as before is not read again. */
  refresh() {
    clearTimeout(this.waiting);
    this.wanted = this.model.tokens(byId("text").value);
    let same = 0;
    while (same < this.wanted.length && this.wanted[same] === this.tokens[same]) same++;
    this.tokens.length = same;
    this.positions.length = same + 1;
    this.values.length = same;
    this.chosen = null;
    this.readOn();
  }

  /** Read for a while and show it; the rest of a long text comes when the page has answered to what is pressed. */
  readOn() {
    const { wanted, tokens, positions } = this;
    const until = performance.now() + AT_ONCE;
    while (tokens.length < wanted.length) {
      const token = wanted[tokens.length];
      this.values.push(this.surprisal(token));
      positions.push(this.model.read(positions[tokens.length], token));
      tokens.push(token);
      if (performance.now() > until) break;
    }
    if (tokens.length < wanted.length) this.waiting = setTimeout(() => this.readOn(), 0);
    this.show();
  }

  /** Bits of a token behind all that was read. */
  surprisal(token) {
    return bits(this.model.logProbs(this.positions[this.tokens.length])[this.model.idOf(token)]);
  }

  show() {
    byId("words").dir = directionOf(this.tokens);
    const values = [...this.values, this.surprisal(END_WORD)];
    byId("words").replaceChildren(...this.tokens.map((token, place) => this.word(token, place, values[place])), ending(values));
    const sum = values.reduce((a, b) => a + b, 0);
    const unknown = this.tokens.filter((token) => !this.model.wordIds.has(token));
    const told = [`${sum.toFixed(2)} bits with the end, perplexity ${(2 ** (sum / values.length)).toFixed(1)}`];
    if (this.tokens.length < this.wanted.length) told.push("reading on …");
    if (unknown.length) told.push("* not in the vocabulary: the surprisal is that of any such word");
    byId("total").textContent = this.tokens.length ? told.join("; ") : "";
    this.look();
  }

  word(token, place, value) {
    const star = this.model.wordIds.has(token) ? "" : "*";
    const told = `${value.toFixed(4)} bits`;
    const button = el("button", { type: "button", class: `word h${shade(value)}`, title: told, "data-bits": value.toFixed(6), "aria-pressed": "false" },
      bdi(token), star, el("small", {}, value.toFixed(1)));
    button.addEventListener("click", () => {
      this.chosen = place;
      this.look();
    });
    return el("li", {}, button);
  }

  /** What follows the chosen word, and what is near it. */
  look() {
    const place = this.chosen ?? this.tokens.length - 1;
    byId("words").querySelectorAll("button").forEach((button, k) => button.setAttribute("aria-pressed", String(k === place)));
    const logProbs = this.model.logProbs(this.positions[place + 1]);
    const token = this.tokens[place];
    byId("next-title").replaceChildren(...(token === undefined ? ["At the start"] : ["After ", bdi(token)]));
    const places = largestPlaces(logProbs, SHOWN, () => true);
    byId("next").replaceChildren(...places.map((id) => this.following(id, logProbs[id], place)));
    byId("near-title").replaceChildren(...(token === undefined ? ["Near words"] : ["Near ", bdi(this.model.formOf(token))]));
    const hint = token === undefined ? "of the word that you type, known or not" : "looking …";
    byId("near").replaceChildren(el("li", { class: "soft" }, hint));
    if (token === undefined) this.near.forget();
    else this.near.ask(this.model.formOf(token), SHOWN, (found) => byId("near").replaceChildren(...found.map(nearWord)));
  }

  /** A next word; pressing it puts it behind the chosen one, in the place of what stood there. */
  following(id, logProb, place) {
    const word = this.model.words[id];
    const share = Math.exp(logProb);
    const number = el("span", { class: "number", "data-bits": bits(logProb).toFixed(6) }, `${(100 * share).toFixed(1)} %`);
    const bar = el("meter", { min: "0", max: "1", value: share.toFixed(4), "aria-hidden": "true" });
    if (id <= UNK) return el("li", {}, el("span", { class: "mark" }, id === UNK ? "any other word" : "the end"), bar, number);
    const button = el("button", { type: "button" }, bdi(word));
    button.addEventListener("click", () => {
      byId("text").value = [...this.tokens.slice(0, place + 1), word].join(" ");
      this.refresh();
      byId("next").querySelector("button")?.focus();
    });
    return el("li", {}, button, bar, number);
  }
}

function ending(values) {
  const value = values[values.length - 1];
  return el("li", {}, el("span", { class: `word end h${shade(value)}`, title: `${value.toFixed(4)} bits`, "data-bits": value.toFixed(6) },
    "end", el("small", {}, value.toFixed(1))));
}

function nearWord([word, cosine]) {
  return el("li", {}, bdi(word), el("span", { class: "number" }, cosine.toFixed(3)));
}

function legend() {
  const scale = [0, ...STEPS].map((least, k) => el("span", { class: `word h${k}` }, `${least}`));
  byId("legend").append("Surprisal in bits, from ", ...scale.flatMap((each) => [each, " "]));
}

function build() {
  themes();
  const content = JSON.parse(byId("data").textContent);
  const buffer = bytesOf(byId("weights").textContent);
  byId("weights").remove();
  byId("title").append(bdi(content.title));
  const alone = content.learnedSentences ? "" : " It was trained on running text: a sentence on its own surprises it a little more.";
  const cut = content.rules.tokenise === "none" ? " Words stand between blanks, as in the text that it was trained on." : "";
  byId("lead").textContent = `${content.arch}, ${content.words.length.toLocaleString("en")} words, in eight bits.${cut}${alone}`;
  byId("foot").textContent = `Made by charlm ${content.charlm}. This page is whole: it asks nothing of any server.`;
  legend();
  new Page(new Model(content, buffer), new Neighbour(content, buffer, document.currentScript.textContent));
}

if (typeof document === "undefined") work();
else build();
