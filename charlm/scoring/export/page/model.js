// The model: letters to a word's vector, vectors to log-probabilities. Nothing here knows the page.
//
// Products are of whole numbers, as onnxruntime computes them: what comes in is measured and rounded
// to eight bits each time, and the sums are exact.

const PADDING = 0, WORD_START = 1, WORD_END = 2, UNK_LETTER = 3, END_LETTER = 4, UNKNOWN_LETTER = 5;
const FIRST_LETTER = 6;
const END_WORD = "</s>", UNK_WORD = "<unk>";
const UNK = 1;
const MOST_KEPT = 20000; // vectors of words and spellings

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes.buffer;
}

function arrayAt(buffer, { kind, at, shape }) {
  const Kind = kind === "b" ? Int8Array : Float32Array;
  return new Kind(buffer, at, shape.reduce((a, b) => a * b, 1));
}

/** To the nearest whole number, of two the even one. */
function rounded(value) {
  const up = Math.round(value);
  return up - value === 0.5 && up % 2 !== 0 ? up - 1 : up;
}

/** Numbers as whole ones from −255 to 255 and what one of them is worth: ONNX's DynamicQuantizeLinear. */
function measured(values) {
  let least = 0, most = 0;
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const unit = most === least ? 1 : Math.fround(Math.fround(most - least) / 255);
  const zero = Math.min(255, Math.max(0, rounded(Math.fround(-least / unit))));
  const whole = new Int16Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const raised = rounded(Math.fround(values[i] / unit)) + zero;
    whole[i] = Math.min(255, Math.max(0, raised)) - zero;
  }
  return { whole, unit };
}

/** x times a matrix of eight bits. */
class Product {
  constructor(buffer, { weights, scales, bias }) {
    this.weights = arrayAt(buffer, weights);
    this.scales = arrayAt(buffer, scales);
    this.bias = arrayAt(buffer, bias);
    this.nOut = this.scales.length;
    this.nIn = this.weights.length / this.nOut;
  }

  /** Of `nIn` of the whole numbers, from one on. */
  sums(whole, from = 0) {
    const { weights, nIn, nOut } = this;
    const sums = new Int32Array(nOut);
    for (let k = 0; k < nIn; k++) {
      const factor = whole[from + k];
      if (factor === 0) continue;
      const row = k * nOut;
      for (let n = 0; n < nOut; n++) sums[n] += factor * weights[row + n];
    }
    return sums;
  }

  scaled(sums, unit) {
    const { scales, bias } = this;
    return Float32Array.from(sums, (sum, n) => Math.fround(sum * Math.fround(unit * scales[n])) + bias[n]);
  }

  of(values) {
    const { whole, unit } = measured(values);
    return this.scaled(this.sums(whole), unit);
  }
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

class Model {
  constructor(content, buffer) {
    const { network } = content;
    const product = (place) => new Product(buffer, place);
    this.words = content.words;
    this.wordIds = new Map(content.words.map((word, number) => [word, number]));
    this.letterIds = new Map(content.characters.map((letter, number) => [letter, number + FIRST_LETTER]));
    this.content = content;
    this.rules = new TextRules(content.rules);
    this.letters = arrayAt(buffer, network.letters);
    this.letterDim = network.letters.shape[1];
    this.filters = product(network.filters);
    this.highways = network.highways.map((pair) => pair.map(product));
    this.lstms = network.lstms.map((pair) => pair.map(product));
    this.output = product(network.output);
    this.vectors = new Map();
    this.begun = this.read({ state: content.start.map((leaf) => Float32Array.from(leaf)) }, END_WORD);
  }

  /** The tokens of a text, by the rules of the text that the model learnt. */
  tokens(text) {
    return this.rules.of(text).filter((token) => token !== END_WORD && token !== "<s>");
  }

  idOf(token) {
    return this.wordIds.get(token) ?? UNK;
  }

  /** The form that a token is spelled as: `<unk>:form` is spelled as the form. */
  formOf(token) {
    const mark = `${UNK_WORD}:`;
    return token.startsWith(mark) && token.length > mark.length ? token.slice(mark.length) : token;
  }

  letterIdsOf(form) {
    if (form === UNK_WORD) return [WORD_START, UNK_LETTER, WORD_END];
    if (form === END_WORD) return [WORD_START, END_LETTER, WORD_END];
    const letters = Array.from(form).slice(0, this.content.longest);
    return [WORD_START, ...letters.map((letter) => this.letterIds.get(letter) ?? UNKNOWN_LETTER), WORD_END];
  }

  /** A form's vector, by its spelling: the character CNN, then the highways. */
  encoded(form) {
    const kept = this.vectors.get(form);
    if (kept) return kept;
    if (this.vectors.size >= MOST_KEPT) this.vectors.clear();
    let vector = this.strongest(this.letterIdsOf(form));
    for (const layer of this.highways) vector = mixed(vector, layer);
    this.vectors.set(form, vector);
    return vector;
  }

  /** tanh of each filter's largest response over the windows; the last one is all padding. */
  strongest(ids) {
    const dim = this.letterDim;
    const padded = [...ids, ...new Array(this.filters.nIn / dim).fill(PADDING)];
    const flat = new Float32Array(padded.length * dim);
    padded.forEach((id, place) => flat.set(this.letters.subarray(id * dim, (id + 1) * dim), place * dim));
    const { whole, unit } = measured(flat);
    const largest = new Int32Array(this.filters.nOut).fill(-(2 ** 31));
    for (let place = 0; place <= ids.length; place++) {
      const sums = this.filters.sums(whole, place * dim);
      for (let n = 0; n < sums.length; n++) if (sums[n] > largest[n]) largest[n] = sums[n];
    }
    return this.filters.scaled(largest, unit).map(Math.tanh);
  }

  /** The position behind one more token. */
  read(position, token) {
    const isKnown = this.wordIds.has(token);
    const form = isKnown || this.content.bySpelling ? this.formOf(token) : UNK_WORD;
    let values = this.encoded(form);
    const state = [];
    this.lstms.forEach((layer, number) => {
      const [h, c] = stepped(values, position.state[2 * number], position.state[2 * number + 1], layer);
      state.push(h, c);
      values = h;
    });
    return { state };
  }

  /** Log-probabilities of what may follow a position, in nats; those of one are kept, not of a whole text. */
  logProbs(position) {
    if (this.asked !== position) {
      this.asked = position;
      this.told = logSoftmax(this.output.of(position.state[position.state.length - 2])); // the last layer's output
    }
    return this.told;
  }
}

/** z = t ⊙ ReLU(W y) + (1 − t) ⊙ y; the gate's bias holds Kim et al.'s −2. */
function mixed(vector, [transform, gate]) {
  const { whole, unit } = measured(vector);
  const [fresh, shares] = [transform, gate].map((part) => part.scaled(part.sums(whole), unit));
  return vector.map((old, n) => old + sigmoid(shares[n]) * (Math.max(0, fresh[n]) - old));
}

/** One layer's next output and cell; the gates lie in ONNX's order: in, out, forget, cell. */
function stepped(values, h, c, [ofInput, ofState]) {
  const [a, b] = [ofInput.of(values), ofState.of(h)];
  const dim = h.length;
  const gate = (number, n) => a[number * dim + n] + b[number * dim + n];
  const cell = c.map((old, n) => sigmoid(gate(2, n)) * old + sigmoid(gate(0, n)) * Math.tanh(gate(3, n)));
  return [cell.map((value, n) => sigmoid(gate(1, n)) * Math.tanh(value)), cell];
}

function logSoftmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const sum = scores.reduce((total, score) => total + Math.exp(score - most), 0);
  const logZ = most + Math.log(sum);
  return scores.map((score) => score - logZ);
}

/** The places of the largest numbers, the largest first; of equal ones the lower place. */
function largestPlaces(values, count, isAllowed) {
  const best = [];
  for (let place = 0; place < values.length; place++) {
    if (best.length === count && values[place] <= values[best[count - 1]]) continue;
    if (!isAllowed(place)) continue;
    let at = best.length;
    while (at > 0 && values[best[at - 1]] < values[place]) at--;
    best.splice(at, 0, place);
    if (best.length > count) best.pop();
  }
  return best;
}
