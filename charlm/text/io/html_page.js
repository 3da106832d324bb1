// What every page does; everything is put in as text, nothing as markup.

const THEMED = []; // what is painted anew when the colours change

const byId = (id) => document.getElementById(id);

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Text of a corpus, kept apart from the direction of what stands around it. */
const bdi = (text) => el("bdi", { dir: "auto" }, text);

const FROM_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Of a sentence, by its first letter; the words themselves are kept apart from it. */
function directionOf(words) {
  const [first] = words.join(" ").replaceAll("<unk>", "").match(/\p{L}/u) ?? [""];
  return FROM_RIGHT.test(first) ? "rtl" : "ltr";
}

/** The system's colours until the button is pressed, then the other ones, and back. */
function themes() {
  const button = byId("theme");
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
