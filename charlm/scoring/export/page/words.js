// What is typed to tokens: the rules of charlm/text/corpus/normalisation.py and phrase_map.py.

const REST = "*";

const wordsOf = (text) => text.split(/[ \t\r\n]+/).filter((word) => word);
const isMarker = (word) => [UNK_WORD, "<s>", END_WORD].includes(word);
const isMark = (word) => isMarker(word) || word.startsWith(`${UNK_WORD}:`);
const whole = (pattern) => new RegExp(`^(?:${pattern})$`, "u");

class TextRules {
  /** The options of a Normalisation, and its patterns as this language writes them. */
  constructor({ lower, unicode, tokenise, numbers, punctuation = "keep", split_hyphens = false, map = [], dotless_i = false, patterns }) {
    this.form = unicode;
    this.isTurkish = dotless_i;
    this.clitic = whole(patterns.clitic);
    this.dotted = whole(patterns.dotted);
    this.number = whole(patterns.number);
    this.ignored = new RegExp(patterns.ignored, "gu");
    this.token = new RegExp(patterns.token, "gu");
    this.hyphen = new RegExp(patterns.hyphen, "su"); // s: U+2028 is no line end in a word
    this.ends = new RegExp(patterns.ends, "gu");
    const phrases = new PhraseMap(map);
    const isNamed = (word) => isMarker(word) || (numbers && word === "N");
    this.steps = [
      [tokenise === "simple", this.each((word) => this.seen(word))],
      [lower, (words) => words.map((word) => (isNamed(word) ? word : this.lowered(word)))],
      [tokenise === "simple", this.each((word) => this.simple(word))],
      [split_hyphens, this.each((word) => this.parts(word))],
      [punctuation === "drop", this.each((word) => this.bare(word))],
      [map.length, (words) => phrases.of(words)],
      [numbers, (words) => words.map((word) => (this.number.test(word) ? "N" : word))],
    ].filter(([isOn]) => isOn);
  }

  of(text) {
    return this.steps.reduce((words, [, step]) => step(words), wordsOf(this.composed(text).replace(/^[ \t\r\n\ufeff]+/, "")));
  }

  /** What becomes of each word, but for marks and unknown words with their spelling. */
  each(rule) {
    return (words) => words.flatMap((word) => (isMark(word) ? [word] : rule(word)));
  }

  composed(text) {
    return this.form === "none" ? text : text.normalize(this.form);
  }

  /** Lower-casing can undo a composition, and the reverse. */
  lowered(word) {
    const small = this.isTurkish ? word.replace(/(?:[Ii]\u0307|\u0130)\u0307*/g, "i").replace(/I/g, "\u0131") : word;
    const next = this.composed(small.toLowerCase());
    return next === word ? word : this.lowered(next);
  }

  /** A word as it is seen, unless it would look like a mark then. */
  seen(word) {
    const seen = word.replace(this.ignored, "");
    if (seen === word || isMark(seen)) return [word];
    return seen ? [this.composed(seen)] : [];
  }

  simple(word) {
    return this.clitic.test(word) ? [word] : (word.match(this.token) ?? []);
  }

  parts(word) {
    return /[\p{L}\p{N}]/u.test(word) ? word.split(this.hyphen).filter((part) => part) : [word];
  }

  bare(word) {
    if (this.clitic.test(word)) return [word];
    const bare = word.replace(this.ends, "");
    if (this.dotted.test(bare)) return bare.split(".");
    return bare ? [bare] : [];
  }
}

/** Words in, words out: the rule of the most words first, of these one without `*`. */
class PhraseMap {
  constructor(rules) {
    const hasRest = ([old]) => old.includes(REST);
    this.exact = new Map(rules.filter((rule) => !hasRest(rule)).map(([old, read]) => [old, wordsOf(read)]));
    this.patterns = rules.filter(hasRest).map(([old, read]) => ({
      nWords: wordsOf(old).length,
      place: wordsOf(old).findIndex((word) => word.includes(REST)),
      pattern: whole(old.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace("\\*", "([^ ]+)")),
      read,
    }));
    this.lengths = [...new Set(rules.map(([old]) => wordsOf(old).length))].sort((a, b) => b - a);
  }

  of(words) {
    const read = [];
    for (let at = 0; at < words.length; ) {
      const length = this.lengths.find((each) => at + each <= words.length && this.found(words.slice(at, at + each)));
      read.push(...(length ? this.found(words.slice(at, at + length)) : [words[at]]));
      at += length ?? 1;
    }
    return read;
  }

  found(words) {
    const phrase = words.join(" ");
    const exact = this.exact.get(phrase);
    if (exact) return exact;
    for (const { nWords, place, pattern, read } of this.patterns) {
      const match = nWords === words.length && pattern.exec(phrase);
      if (!match) continue;
      const found = wordsOf(read.replace(REST, () => match[1]));
      const word = words[place]; // a mark is neither joined to letters nor cut
      if (!found.length || !isMark(word) || found.includes(word)) return found;
    }
    return null;
  }
}
