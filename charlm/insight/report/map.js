"use strict";
// A map of words or n-grams on a canvas: hover, zoom, pan, and a search that marks what it finds.

const SIDE = 10000; // of the square that places lie in
const NEAR = 14; // pixels within which a point is meant
const MOST_FOUND = 300; // forms that a search marks with their names, or lists
const MOST_ZOOM = 60;
const ROOM = 6000; // square pixels of the map for one name, where nothing is zoomed
const MOST_TRIED = 3000; // forms in sight, the most frequent, for which room is sought
const KIND_COLOURS = { other: "--base", prefix: "--s1", suffix: "--s0", hyphenated: "--s5" };

/** `data`: forms, places, and either kinds or neighbours; `options`: label, example, describe(i). */
function scatterMap(data, options) {
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": options.alt });
  const found = el("div", { class: "found", role: "status" });
  const input = el("input", {
    type: "search", "aria-label": options.label, placeholder: options.example,
    autocomplete: "off", spellcheck: "false", autocapitalize: "none",
  });
  const view = { x: SIDE / 2, y: SIDE / 2, zoom: 1 };
  const state = { data, canvas, view, marked: -1, also: [], named: [], options, found, input };
  state.index = new Map(data.forms.map((form, row) => [form, row]));
  state.extent = extentOf(data.places);
  const button = (text, label, act) => {
    const node = el("button", { type: "button", "aria-label": label }, text);
    node.addEventListener("click", act);
    return node;
  };
  const tools = el("div", { class: "tools" }, input,
    button("+", "zoom in", () => zoom(state, 1.5)),
    button("−", "zoom out", () => zoom(state, 1 / 1.5)),
    button("Whole", "show the whole map", () => home(state)),
    button("Close-up", "zoom to what is marked", () => closeUp(state)),
  );
  input.addEventListener("input", () => search(state, input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { go(state); closeUp(state); }
    if (event.key === "Escape") { input.value = ""; search(state, ""); }
  });
  listen(state);
  home(state);
  new ResizeObserver(() => paint(state)).observe(canvas);
  THEMED.push(() => paint(state));
  search(state, "");
  const figure = el("figure", { class: "map" }, tools, found, canvas, el("figcaption", {}, options.caption));
  figure.state = state; // for tests, and for whoever opens the console
  return figure;
}

function extentOf(places) {
  let [right, top] = [1, 1];
  for (let i = 0; i < places.length; i += 2) {
    if (places[i] > right) right = places[i];
    if (places[i + 1] > top) top = places[i + 1];
  }
  return { right, top };
}

function home(state) {
  const { right, top } = state.extent;
  Object.assign(state.view, { x: right / 2, y: top / 2, zoom: 1 });
  paint(state);
}

/** As near to the marked form and its neighbours, or to all that are marked, as shows them all. */
function closeUp(state) {
  const { data, view, marked, also } = state;
  const rows = marked < 0 ? also : [marked, ...also];
  if (!rows.length) return;
  const [xs, ys] = [0, 1].map((axis) => rows.map((row) => data.places[2 * row + axis]));
  const middle = (values) => (Math.min(...values) + Math.max(...values)) / 2;
  Object.assign(view, { x: middle(xs), y: middle(ys), zoom: 1 });
  const { scale, width, height } = projection(state);
  const room = (values, pixels) => (0.8 * pixels) / (scale * Math.max(1, Math.max(...values) - Math.min(...values)));
  view.zoom = Math.max(1, Math.min(MOST_ZOOM, room(xs, width), room(ys, height)));
  paint(state);
}

/** Pixels of the canvas for a place or a form. */
function projection(state) {
  const { canvas, data, view, extent } = state;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const scale = Math.min((width - 30) / extent.right, (height - 30) / extent.top) * view.zoom;
  const x = (place) => width / 2 + (place - view.x) * scale;
  const y = (place) => height / 2 - (place - view.y) * scale;
  const at = (row) => [x(data.places[2 * row]), y(data.places[2 * row + 1])];
  return { scale, width, height, at };
}

/** Pixels of the marked form, if there is one in sight. */
function markInSight(state) {
  const { width, height, at } = projection(state);
  const [px, py] = state.marked < 0 ? [-1, -1] : at(state.marked);
  return px > 0 && py > 0 && px < width && py < height ? [px, py] : null;
}

function paint(state) {
  const { canvas, data } = state;
  if (!canvas.clientWidth) return;
  const density = window.devicePixelRatio || 1;
  const height = Math.round(Math.max(300, Math.min(560, canvas.clientWidth * 0.72)));
  if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`;
  canvas.width = Math.round(canvas.clientWidth * density);
  canvas.height = Math.round(height * density);
  const pen = canvas.getContext("2d");
  pen.scale(density, density);
  const to = projection(state);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const size = Math.min(5, 1.4 * Math.sqrt(state.view.zoom)) * (to.width < 480 ? 0.8 : 1);
  const layers = data.kind_names || ["all"];
  const last = layers.indexOf("other");
  const order = layers.map((_, kind) => kind).sort((a, b) => (b === last) - (a === last));
  const dim = state.also.length || state.marked >= 0 ? 0.28 : 1;
  for (const kind of order) {
    pen.fillStyle = colour(data.kinds ? KIND_COLOURS[layers[kind]] : "--s0");
    pen.globalAlpha = (kind === last ? 0.3 : 0.6) * dim;
    for (let row = 0; row < data.forms.length; row += 1) {
      if (data.kinds && Number(data.kinds[row]) !== kind) continue;
      const [px, py] = to.at(row);
      if (px < -5 || py < -5 || px > to.width + 5 || py > to.height + 5) continue;
      pen.fillRect(px - size, py - size, 2 * size, 2 * size);
    }
  }
  pen.globalAlpha = 1;
  const names = writer(state, { pen, to, ground: colour("--ground") });
  paintMarks(state, { pen, to, names, ink: colour("--ink"), mark: colour("--mark") });
  paintNames(state, { to, names, ink: colour(dim < 1 ? "--soft" : "--ink") });
  state.named = names.written;
}

/** Writes names where none stands yet; `written` are the rows that have theirs. */
function writer(state, { pen, to, ground }) {
  const taken = [];
  const written = [];
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  const write = (row, { font, ink, offset, isForced = false }) => {
    const [px, py] = to.at(row);
    const text = state.data.forms[row];
    pen.font = font;
    pen.direction = directionOf([text]); // where a { stands that begins an Arabic n-gram
    const width = pen.measureText(text).width;
    const left = px + offset + width > to.width ? px - offset - width : px + offset;
    const clash = taken.some((n) => Math.abs(n.y - py) < 15 && left < n.right + 4 && left + width + 4 > n.left);
    if (clash && !isForced) return;
    taken.push({ y: py, left, right: left + width });
    written.push(row);
    pen.lineWidth = 4;
    pen.strokeStyle = ground;
    pen.strokeText(text, left, py);
    pen.fillStyle = ink;
    pen.fillText(text, left, py);
  };
  return { write, written };
}

/** The most frequent forms in sight have names, as many as there is room for, and more as one zooms. */
function paintNames(state, { to, names, ink }) {
  const { forms } = state.data;
  const most = ((to.width * to.height) / ROOM) * Math.min(2, Math.sqrt(state.view.zoom));
  let tried = 0;
  for (let row = 0; row < forms.length && tried < MOST_TRIED && names.written.length < most; row += 1) {
    const [px, py] = to.at(row);
    if (px < 0 || py < 8 || px > to.width || py > to.height - 8 || row === state.marked) continue;
    if (state.options.isNamed && !state.options.isNamed(row)) continue;
    tried += 1;
    names.write(row, { font: "12px system-ui, sans-serif", ink, offset: 4 });
  }
}

function paintMarks(state, { pen, to, names, ink, mark: markColour }) {
  const { data, marked, also } = state;
  const font = "600 13px system-ui, sans-serif";
  pen.lineWidth = 1;
  for (const row of also) {
    const [px, py] = to.at(row);
    pen.strokeStyle = pen.fillStyle = markColour;
    if (marked >= 0 && data.neighbours) {
      pen.beginPath();
      pen.moveTo(...to.at(marked));
      pen.lineTo(px, py);
      pen.stroke();
    }
    pen.beginPath();
    pen.arc(px, py, 4, 0, 2 * Math.PI);
    pen.fill();
  }
  if (marked >= 0) {
    const [px, py] = to.at(marked);
    pen.strokeStyle = markColour;
    pen.lineWidth = 3;
    pen.beginPath();
    pen.arc(px, py, 9, 0, 2 * Math.PI);
    pen.stroke();
    names.write(marked, { font, ink, offset: 13, isForced: true });
  }
  for (const row of also.slice(0, 40)) names.write(row, { font, ink, offset: 8 });
}

/** `held` are the pixels that stay where they are: the pointer's, else the marked form's, else the middle. */
function zoom(state, factor, held = markInSight(state)) {
  const to = projection(state);
  const { view } = state;
  const next = Math.max(1, Math.min(MOST_ZOOM, view.zoom * factor));
  const [px, py] = held || [to.width / 2, to.height / 2];
  const [dx, dy] = [(px - to.width / 2) / to.scale, (py - to.height / 2) / to.scale];
  view.x += dx * (1 - view.zoom / next);
  view.y -= dy * (1 - view.zoom / next);
  view.zoom = next;
  paint(state);
}

function pan(state, dx, dy) {
  const { scale } = projection(state);
  state.view.x -= dx / scale;
  state.view.y += dy / scale;
  paint(state);
}

function nearest(state, px, py) {
  const to = projection(state);
  const { forms } = state.data;
  let best = -1;
  let least = NEAR * NEAR;
  for (let row = 0; row < forms.length; row += 1) {
    const [x, y] = to.at(row);
    const distance = (x - px) ** 2 + (y - py) ** 2;
    if (distance < least) [best, least] = [row, distance];
  }
  return best;
}

function listen(state) {
  const { canvas } = state;
  let held = null;
  const inside = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, y: event.clientY, moved: 0 };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held && event.buttons) {
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      held = { x: event.clientX, y: event.clientY, moved: held.moved + Math.abs(dx) + Math.abs(dy) };
      pan(state, dx, dy);
      return hideTip();
    }
    const row = nearest(state, ...inside(event));
    if (row < 0) hideTip();
    else tip(state.options.describe(row), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerup", (event) => {
    const row = held && held.moved < 4 ? nearest(state, ...inside(event)) : -1;
    held = null;
    if (row >= 0) choose(state, row);
  });
  canvas.addEventListener("pointerleave", hideTip);
  // Without Ctrl the wheel scrolls the page, unless the map has been clicked into.
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(state, event.deltaY < 0 ? 1.2 : 1 / 1.2, inside(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) pan(state, ...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(state, 1.4);
    else if (event.key === "-") zoom(state, 1 / 1.4);
    else if (event.key === "0") home(state);
    else return;
    event.preventDefault();
  });
}

/** Mark a form, and bring it into sight. */
function markForm(state, row) {
  state.marked = row;
  if (row < 0 || markInSight(state)) return;
  [state.view.x, state.view.y] = state.data.places.slice(2 * row, 2 * row + 2);
}

/** What is typed: exactly a form is marked, with its neighbours; else what begins with it is offered. */
function search(state, typed) {
  const text = typed.trim();
  const { data, found } = state;
  [state.marked, state.also] = [-1, []];
  const exact = state.index.has(text) ? text : text.toLowerCase();
  if (!text) found.replaceChildren(el("span", { class: "soft" }, state.options.hint));
  else if (data.kinds) markPieces(state, text);
  else if (state.index.has(exact)) return choose(state, state.index.get(exact), true);
  else offer(state, text);
  paint(state);
}

function markPieces(state, text) {
  const rows = [];
  state.data.forms.forEach((form, row) => { if (form.includes(text)) rows.push(row); });
  markForm(state, state.index.has(text) ? state.index.get(text) : -1);
  state.also = rows.filter((row) => row !== state.marked).slice(0, MOST_FOUND);
  const marked = state.also.length + (state.marked >= 0 ? 1 : 0);
  const more = rows.length > marked ? `, ${marked} of them marked` : "";
  state.found.replaceChildren(`${rows.length.toLocaleString("en")} n-grams hold `, bdi(text), more);
}

function offer(state, text) {
  const rows = [];
  const wanted = text.toLowerCase();
  for (let row = 0; row < state.data.forms.length && rows.length < 10; row += 1) {
    if (state.data.forms[row].toLowerCase().startsWith(wanted)) rows.push(row);
  }
  if (rows.length) state.found.replaceChildren("Words that begin so: ", ...rows.map((row) => chooser(state, row)));
  else state.found.replaceChildren("No word on the map begins with ", bdi(text));
}

function chooser(state, row) {
  const button = el("button", { type: "button" }, bdi(state.data.forms[row]));
  button.addEventListener("click", () => choose(state, row));
  return button;
}

function go(state) {
  const first = state.found.querySelector("button");
  if (state.marked < 0 && first) first.click();
}

function choose(state, row, isTyped) {
  const { data, found, input } = state;
  if (!isTyped) input.value = data.forms[row];
  if (data.kinds) return search(state, data.forms[row]);
  markForm(state, row);
  state.also = data.neighbours[row];
  found.replaceChildren(bdi(data.forms[row]), " is nearest to ", ...state.also.map((each) => chooser(state, each)));
  return paint(state);
}
