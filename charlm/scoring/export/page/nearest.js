// Near words, by vectors cut to a few numbers in eight bits: a worker looks through all of them.

/** What the worker does; it has nothing of this page but its own text. */
function workAsNeighbour() {
  let vectors, dim, lengths;
  self.onmessage = ({ data }) => {
    if (data.vectors) {
      ({ vectors, dim } = data);
      lengths = new Float32Array(vectors.length / dim);
      for (let word = 0; word < lengths.length; word++) {
        let square = 0;
        for (let k = 0; k < dim; k++) square += vectors[word * dim + k] ** 2;
        lengths[word] = Math.sqrt(square) || 1;
      }
      return;
    }
    const cosines = new Float32Array(lengths.length);
    for (let word = 0; word < lengths.length; word++) {
      let sum = 0;
      for (let k = 0; k < dim; k++) sum += vectors[word * dim + k] * data.query[k];
      cosines[word] = sum / lengths[word];
    }
    self.postMessage({ asked: data.asked, cosines });
  };
}

class NearWords {
  constructor(model, { vectors, directions }, buffer) {
    this.model = model;
    this.directions = arrayAt(buffer, directions);
    this.dim = directions.shape[1];
    this.asked = 0;
    const address = URL.createObjectURL(new Blob([`(${workAsNeighbour})()`], { type: "text/javascript" }));
    this.worker = new Worker(address);
    this.worker.postMessage({ vectors: arrayAt(buffer, vectors).slice(), dim: this.dim });
    this.worker.onmessage = ({ data }) => {
      if (data.asked === this.asked) this.answer(data.cosines);
    };
  }

  /** Calls `tell` with the nearest words of the vocabulary and their cosines; a later question wins. */
  ask(form, count, tell) {
    const { model, dim, directions } = this;
    const vector = model.encoded(form);
    const query = new Float32Array(dim);
    vector.forEach((value, place) => {
      for (let k = 0; k < dim; k++) query[k] += value * directions[place * dim + k];
    });
    const length = Math.hypot(...query) || 1;
    const left = new Set([0, UNK, model.wordIds.get(form)]);
    this.answer = (cosines) => {
      const places = largestPlaces(cosines, count, (place) => !left.has(place));
      tell(places.map((place) => [model.words[place], cosines[place]]));
    };
    this.asked += 1;
    this.worker.postMessage({ asked: this.asked, query: query.map((value) => value / length) });
  }
}
