// Near words: vectors cut to a few numbers in eight bits name the candidates, the model itself decides.
//
// All of it is a worker's, since the candidates' vectors take it half a second: this same script runs
// there once more, without a page.

const CANDIDATES = 200;

/** The vocabulary's cut vectors, and the model whose they are. */
class NearWords {
  constructor(model, { vectors, directions }, buffer) {
    this.model = model;
    this.vectors = arrayAt(buffer, vectors);
    this.directions = arrayAt(buffer, directions);
    this.dim = directions.shape[1];
    this.lengths = model.words.map((_, word) => norm(this.cut(word)) || 1);
  }

  cut(word) {
    return this.vectors.subarray(word * this.dim, (word + 1) * this.dim);
  }

  /** The nearest words of the vocabulary, each with its cosine. */
  of(form, count) {
    const { model, dim, directions } = this;
    const vector = model.encoded(form);
    const query = new Float32Array(dim);
    vector.forEach((value, place) => {
      for (let k = 0; k < dim; k++) query[k] += value * directions[place * dim + k];
    });
    const left = new Set([0, UNK, model.wordIds.get(form)]);
    const coarse = this.lengths.map((own, word) => dot(query, this.cut(word)) / own);
    const candidates = largestPlaces(coarse, CANDIDATES, (word) => !left.has(word));
    const exact = candidates.map((word) => cosine(vector, model.encoded(model.words[word])));
    return largestPlaces(exact, count, () => true).map((k) => [model.words[candidates[k]], exact[k]]);
  }
}

function dot(a, b) {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}

const norm = (vector) => Math.sqrt(dot(vector, vector));
const cosine = (a, b) => dot(a, b) / (norm(a) * norm(b) || 1);

/** Answers of the worker; while it is at one, the latest further question waits for it. */
class Neighbour {
  constructor(content, buffer, script) {
    this.worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
    this.worker.postMessage({ content, buffer });
    this.worker.onmessage = ({ data }) => {
      if (this.waiting) this.send();
      else {
        this.isBusy = false;
        this.tell(data);
      }
    };
  }

  /** Calls `tell` with what `NearWords.of` finds, unless another question comes first. */
  ask(form, count, tell) {
    this.tell = tell;
    this.waiting = { form, count };
    if (!this.isBusy) this.send();
  }

  /** Nobody wants to know any more what was asked. */
  forget() {
    this.tell = () => {};
    this.waiting = null;
  }

  send() {
    this.isBusy = true;
    this.worker.postMessage(this.waiting);
    this.waiting = null;
  }
}

function work() {
  let near = null;
  self.onmessage = ({ data }) => {
    if (near) self.postMessage(near.of(data.form, data.count));
    else near = new NearWords(new Model(data.content, data.buffer), data.content.near, data.buffer);
  };
}
