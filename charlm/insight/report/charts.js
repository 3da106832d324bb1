"use strict";
// Lines and bars as SVG, drawn at the width that there is: scaled text would be too small to read.

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 68, right: 14, top: 10, bottom: 50, turned: 92 };
const DASHES = ["", "7 4", "2 4", "9 3 2 3"];
const WIDE_LETTER = 7;

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** The mark of a series: its shape tells it apart where its colour does not. */
function mark(shape, x, y, size) {
  const at = (points) => points.map(([a, b]) => `${x + a * size},${y + b * size}`).join(" ");
  if (shape === 0) return svg("circle", { cx: x, cy: y, r: size, class: "fill" });
  if (shape === 5) {
    const path = `M${at([[-1, -1]])}L${at([[1, 1]])}M${at([[-1, 1]])}L${at([[1, -1]])}`;
    return svg("path", { d: path, class: "cross" });
  }
  const shapes = {
    1: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    2: [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]],
    3: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
    4: [[-1.1, -0.9], [1.1, -0.9], [0, 1.2]],
  };
  return svg("polygon", { points: at(shapes[shape]), class: "fill" });
}

function colourOf(series) {
  return series.isBase ? "cb" : `c${series.number % 6}`;
}

function shapeOf(series) {
  return series.isBase ? 5 : series.number % 5;
}

function dashOf(series) {
  return DASHES[series.isBase ? 2 : series.dash || 0];
}

/** Room below the axis: long labels that do not fit side by side are turned. */
function footOf({ labels, isFlat }, step) {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  const isTurned = !isFlat && longest > 3 && (longest + 1) * WIDE_LETTER > step;
  const room = isTurned ? 19 : (longest + 1) * WIDE_LETTER;
  return { isTurned, every: Math.max(1, Math.ceil(room / step)), bottom: isTurned ? MARGIN.turned : MARGIN.bottom };
}

function ticks(low, high, isLog) {
  const found = [];
  if (isLog) {
    for (const steps of [[1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8], [1, 2, 3, 5, 7], [1, 2, 5], [1]]) {
      found.length = 0;
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
        found.push(...steps.map((step) => step * 10 ** power));
      }
      const inside = found.filter((value) => value >= low && value <= high);
      if (inside.length <= 7 && inside.length > 1) return inside;
    }
    const inside = found.filter((value) => value >= low && value <= high);
    if (inside.length > 1) return inside;
    found.length = 0; // a short axis: as if it were linear
  }
  const rough = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); n += 1) found.push(n * step + 0); // never -0
  return found;
}

/**
 * A figure of lines over categories. `spec`: labels, series ({name, number, values, dash, isBase,
 * plain: no marks}), isLog, zero (start there), x, y (titles), alt, apart (labels joined to nothing).
 */
function lineChart(spec) {
  const place = el("div", { class: "chart" });
  const figure = el("figure", {}, legendOf(spec.series), place);
  if (spec.caption) figure.append(el("figcaption", {}, spec.caption));
  redrawn(place, (width) => drawLines(spec, width));
  if (!spec.hasTable) figure.append(numbersOf(spec));
  return figure;
}

function legendOf(series) {
  const items = series.map((each) => {
    const sample = svg("svg", { width: 30, height: 14, "aria-hidden": "true", class: colourOf(each) });
    sample.append(svg("path", { d: "M0 7H30", class: "stroke", "stroke-dasharray": dashOf(each) }));
    if (!each.plain) sample.append(mark(shapeOf(each), 15, 7, 4.5));
    return el("li", {}, sample, bdi(each.name));
  });
  return el("ul", { class: "legend" }, ...items);
}

function drawLines(spec, width) {
  const values = spec.series.flatMap((each) => each.values.filter((value) => value !== null));
  if (!values.length) return svg("svg", { width, height: 0 });
  let low = spec.zero ? 0 : Math.min(...values);
  let high = Math.max(...values);
  if (spec.isLog) [low, high] = [low / 1.12, high * 1.12];
  else high += (high - low) * 0.06 || 1;
  const scale = (value) => (spec.isLog ? Math.log(value) : value);
  const step = (width - MARGIN.left - MARGIN.right) / Math.max(1, spec.labels.length);
  const foot = footOf(spec, step).bottom;
  const height = foot + Math.max(180, Math.min(300, width * 0.44));
  const bottom = height - foot;
  const y = (value) =>
    bottom - ((scale(value) - scale(low)) / (scale(high) - scale(low) || 1)) * (bottom - MARGIN.top);
  const x = (index) => MARGIN.left + (index + 0.5) * step;
  const root = frame(spec, { width, height, x, y, step, ticksOfY: ticks(low, high, spec.isLog) });
  const points = [];
  spec.series.forEach((each, row) => {
    const isMarked = !each.plain || each.values.filter((value) => value !== null).length === 1; // no line leads to it
    const group = svg("g", { class: colourOf(each) });
    group.append(svg("path", {
      d: pathOf(each.values.map((value, index) => ((spec.apart || []).includes(spec.labels[index]) ? null : value)), x, y),
      class: "stroke",
      "stroke-dasharray": dashOf(each),
    }));
    each.values.forEach((value, index) => {
      if (value === null) return;
      if (isMarked) group.append(mark(shapeOf(each), x(index), y(value), (width < 480 ? 3.2 : 4) / (each.plain ? 2 : 1)));
      points.push({ x: x(index), y: y(value), row, index, value });
    });
    root.append(group);
  });
  hover(root, points, (p) => `${spec.series[p.row].name}, ${spec.labels[p.index]}: ${shown(p.value)}`);
  return root;
}

function pathOf(values, x, y) {
  let path = "";
  let isJoined = false;
  values.forEach((value, index) => {
    if (value !== null) path += `${isJoined ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    isJoined = value !== null;
  });
  return path;
}

function frame(spec, { width, height, x, y, step, ticksOfY }) {
  const foot = footOf(spec, step);
  const bottom = height - foot.bottom;
  const root = svg("svg", { width, height, role: "img", "aria-label": spec.alt });
  for (const value of ticksOfY) {
    root.append(
      svg("path", { d: `M${MARGIN.left} ${y(value)}H${width - MARGIN.right}`, class: "grid" }),
      svg("text", { x: MARGIN.left - 7, y: y(value) + 4, "text-anchor": "end" }, shown(value)),
    );
  }
  root.append(svg("path", { d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${width - MARGIN.right}`, class: "frame" }));
  spec.labels.forEach((label, index) => {
    if (index % foot.every) return;
    const [left, top] = [x(index), bottom + 18];
    const place = foot.isTurned
      ? { x: left + 4, y: top - 4, "text-anchor": "end", transform: `rotate(-40 ${left + 4} ${top - 4})` }
      : { x: left, y: top, "text-anchor": "middle" };
    root.append(svg("text", place, label));
  });
  const middle = (MARGIN.top + bottom) / 2;
  root.append(
    svg("text", { x: (width + MARGIN.left) / 2, y: height - 8, "text-anchor": "middle" }, spec.x),
    svg("text", { x: 11, y: middle, "text-anchor": "middle", transform: `rotate(-90 11 ${middle})` }, spec.y),
  );
  return root;
}

/** A histogram of shares over 0 … 1, one colour. */
function histogram(spec) {
  const place = el("div", { class: "chart" });
  const figure = el("figure", {}, place);
  if (spec.caption) figure.append(el("figcaption", {}, spec.caption));
  redrawn(place, (width) => {
    const height = Math.max(200, Math.min(280, width * 0.4));
    const step = (width - MARGIN.left - MARGIN.right) / spec.values.length;
    const bottom = height - MARGIN.bottom;
    const most = Math.max(...spec.values) || 1;
    const y = (value) => bottom - (value / most) * (bottom - MARGIN.top);
    const x = (index) => MARGIN.left + (index + 0.5) * step;
    const root = frame(spec, { width, height, x, y, step, ticksOfY: ticks(0, most, false) });
    const group = svg("g", { class: `c${spec.number % 6}` });
    const points = spec.values.map((value, index) => {
      const left = MARGIN.left + index * step;
      group.append(svg("rect", { x: left, y: y(value), width: Math.max(1, step - 1), height: bottom - y(value), class: "fill" }));
      return { x: x(index), y: y(value), index, value };
    });
    root.append(group);
    const end = (index) => spec.labels[index + 1] || "1";
    hover(root, points, (p) => `${spec.labels[p.index]} to ${end(p.index)}: ${(100 * p.value).toFixed(2)} %`);
    return root;
  });
  return figure;
}

function numbersOf(spec) {
  const header = [spec.x, ...spec.series.map((each) => each.name)];
  const rows = spec.labels.map((label, index) => [
    label, ...spec.series.map((each) => (each.values[index] === null ? "–" : shown(each.values[index]))),
  ]);
  return el("details", {}, el("summary", {}, "The numbers"), table(header, rows));
}

/** Draw into `place`, and again whenever its width changes. */
function redrawn(place, draw) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(place.clientWidth);
    if (!width || width === last) return;
    last = width;
    place.replaceChildren(draw(width));
  }).observe(place);
}

function hover(root, points, text) {
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const near = points.reduce((best, p) => {
      const distance = Math.hypot(p.x - px, p.y - py);
      return distance < best.distance ? { distance, p } : best;
    }, { distance: 24, p: null });
    if (near.p) tip(text(near.p), event.clientX, event.clientY);
    else hideTip();
  });
  root.addEventListener("pointerleave", hideTip);
}
