// The page of `card preview`: fetches its state, shows it, and fetches it again when the server says that something changed.
"use strict";

const at = (id) => document.getElementById(id);
const make = (tag, words = "", name = "") => {
  const made = document.createElement(tag);
  made.textContent = words;
  if (name) made.className = name;
  return made;
};
let state = null;
let wanted = "";

// ------------------------------------------------------------------------------------------------------------ colours

const system = matchMedia("(prefers-color-scheme: dark)");
const remembered = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
  set: (value) => { try { localStorage.setItem("theme", value); } catch { /* a browser may refuse to remember */ } } };
function paint() {
  const theme = at("theme").value;
  document.documentElement.dataset.theme = theme === "auto" ? (system.matches ? "dark" : "light") : theme;
}
at("theme").value = remembered.get() || "auto";
at("theme").addEventListener("change", () => { remembered.set(at("theme").value); paint(); });
system.addEventListener("change", paint);
paint();

// -------------------------------------------------------------------------------------------------------------- state

async function load() {
  const answer = await fetch("state?view=" + encodeURIComponent(wanted), { cache: "no-store" });
  if (!answer.ok) throw new Error("no answer");
  const before = state;
  state = await answer.json();
  show(before);
}

function show(before) {
  hide();
  const opened = new Set([...at("content").querySelectorAll("details[open]")].map((one) => one.dataset.line));
  at("content").innerHTML = state.html;
  at("title").textContent = document.title = "Card preview" + (heading() ? ": " + heading() : "");
  for (const one of at("content").querySelectorAll("details")) if (before && opened.has(one.dataset.line)) one.open = true;
  if (!state.html) at("content").append(make("p", "The card can't be rendered; the findings say why."));
  at("views").replaceChildren(...state.views.map(view));
  at("views").hidden = state.views.length < 2;
  showMetadata();
  showFindings();
  showFigures();
  const left = Object.entries(state.leftOut);
  at("left-box").hidden = !left.length;
  at("left").replaceChildren(...left.map(([name, count]) => make("li", `${name} × ${count}`)));
  say(before && before.version !== state.version ? "reloaded: something changed" : "up to date");
}

const heading = () => (at("content").querySelector("h1")?.textContent || "").replace(/^#/, "");
const NAMES = { rendered: "from its data", "README.md": "README.md as it is" };
function view(name) {
  const made = make("button", NAMES[name] || name);
  made.type = "button";
  made.setAttribute("aria-pressed", String(name === state.view));
  made.addEventListener("click", () => { wanted = name; load().catch(lost); });
  return made;
}

function showMetadata() {
  const { tags, rows, more } = state.metadata;
  at("meta").hidden = !tags.length && !rows.length;
  at("tags").replaceChildren(...tags.map((tag) => {
    const made = make("li");
    made.dataset.line = tag.line;
    made.append(make("span", tag.kind.replaceAll("_", " ") + ": ", "kind"), tag.text);
    return made;
  }));
  at("rows-box").hidden = !rows.length;
  at("rows-count").textContent = `(${rows.length + more})`;
  at("rows").replaceChildren(...rows.flatMap((row) => {
    const value = make("dd");
    value.dataset.line = row.line;
    if (row.figure === null) value.textContent = row.text;
    else {
      const figure = make("span", row.text, "figure");
      Object.assign(figure, { tabIndex: 0 });
      figure.setAttribute("role", "button");
      figure.dataset.figure = row.figure;
      value.append(figure);
    }
    return [make("dt", row.key), value];
  }));
  if (more) at("rows").append(make("dt", `and ${more} more`));
}

// ----------------------------------------------------------------------------------------------------------- findings

function showFindings() {
  at("findings-count").textContent = state.findings.length ? `(${state.findings.length})` : "";
  at("findings").replaceChildren(...(state.findings.length ? state.findings.map(finding) : [make("li", "none", "none")]));
}

function finding(found) {
  const made = make("li", "", found.severity);
  const place = make("button", found.file + (found.line ? `:${found.line}` : "") + (found.pointer ? ` ${found.pointer}` : ""), "place");
  place.type = "button";
  const isCard = found.file === "README.md";
  if (isCard) place.addEventListener("click", () => jump(found.line || 1));
  else if (found.open) place.addEventListener("click", () => read(found.open, found.line || 0).catch(lost));
  else place.disabled = true;
  const words = make("p");
  words.append(make("span", `${found.severity} ${found.code}: `, "severity"), found.message);
  made.append(place, words, make("p", "mend: " + found.mend, "mend"));
  if (found.kind === "card-differs" && state.diff.length) made.append(make("pre", state.diff.join("\n"), "diff"));
  return made;
}

// The last block that begins on the line or before it; blocks of the metadata count too.
function block(line) {
  let best = null;
  for (const one of at("card").querySelectorAll("[data-line]")) {
    const first = Number(one.dataset.line);
    if (first <= line && (!best || first >= Number(best.dataset.line))) best = one;
  }
  return best || at("content").querySelector("[data-line]") || at("content");
}

function jump(line) {
  const found = block(line);
  for (let one = found; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  for (const old of document.querySelectorAll(".hit")) old.classList.remove("hit");
  found.classList.add("hit");
  if (!found.hasAttribute("tabindex")) found.tabIndex = -1;
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: "center" });
  setTimeout(() => found.classList.remove("hit"), 4000);
}

// ------------------------------------------------------------------------------------------------- where a figure is from

function showFigures() {
  at("figures-count").textContent = `(${state.figures.length})`;
  at("figures-none").hidden = state.figures.length > 0;
  at("figures-none").textContent = state.view === "README.md" ? "README.md as it is: which data its figures come from is known only for the card that the data renders to."
    : "The card shows none.";
  at("figures").replaceChildren(...state.figures.map((figure, number) => {
    const made = make("li");
    const place = make("button", figure.text, "place");
    place.type = "button";
    place.addEventListener("click", () => {
      const shown = at("card").querySelector(`[data-figure="${number}"]`);
      jump(figure.line);
      if (shown) { for (let one = shown; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true; shown.focus({ preventScroll: true }); }
    });
    made.append(place, make("p", origin(figure), "from"));
    return made;
  }));
}

const SOURCES = { receipt: "receipt (measured)", payload: "payload (computed)", lock: "lock", spec: "spec (stated by the publisher)", derived: "computed from other figures" };
const sourceOf = (figure) => SOURCES[figure.source] || figure.source;
const origin = (figure) => figure.formula ? figure.formula : `${sourceOf(figure)}: ${figure.file} ${figure.pointer}`;

function rowsOf(figure) {
  const rows = figure.published ? [["published as", `${figure.published.shown}, and the data gives another value`]] : [];
  rows.push(["source", sourceOf(figure)]);
  if (figure.file) rows.push(["file", figure.file], ["pointer", figure.pointer || "(the whole document)"]);
  rows.push(["value", figure.value], ["shown", figure.shown]);
  if (figure.formula) rows.push(["formula", figure.formula]);
  for (const one of figure.operands) rows.push(["of", `${one.shown}, ${origin(one)}`]);
  return rows;
}

function tell(target) {
  const figure = state.figures[Number(target.dataset.figure)];
  if (!figure) return;
  const list = make("dl");
  for (const [key, value] of rowsOf(figure)) list.append(make("dt", key), make("dd", value));
  const box = at("source");
  box.replaceChildren(list);
  if (figure.open || figure.operands.some((one) => one.open)) box.append(make("p", "Enter or click: open the file"));
  box.hidden = false;
  for (const old of document.querySelectorAll(".figure.on")) old.classList.remove("on");
  target.classList.add("on");
  target.setAttribute("aria-describedby", "source");
  const spot = target.getBoundingClientRect(), size = box.getBoundingClientRect();
  const left = Math.max(8, Math.min(spot.left, document.documentElement.clientWidth - size.width - 8));
  const below = spot.bottom + 8 + size.height < innerHeight;
  box.style.left = `${left + scrollX}px`;
  box.style.top = `${(below ? spot.bottom + 8 : Math.max(0, spot.top - size.height - 8)) + scrollY}px`;
}

function hide() {
  at("source").hidden = true;
  for (const old of document.querySelectorAll(".figure.on")) { old.classList.remove("on"); old.removeAttribute("aria-describedby"); }
}

const figureAt = (event) => event.target instanceof Element ? event.target.closest("[data-figure]") : null;
document.addEventListener("pointerover", (event) => { const found = figureAt(event); if (found) tell(found); else if (!event.target.closest?.("#source")) leave(); });
document.addEventListener("focusin", (event) => { const found = figureAt(event); if (found) tell(found); else hide(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
  const found = figureAt(event);
  if (found && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); openFigure(found); }
});
document.addEventListener("click", (event) => {
  const found = figureAt(event);
  const link = event.target.closest?.("[data-open]");
  if (found) { tell(found); if (event.pointerType !== "touch") openFigure(found); }
  else if (link) { event.preventDefault(); read(link.dataset.open, 0).catch(lost); }
});
const leave = () => { const focused = document.activeElement?.closest?.("[data-figure]"); if (focused) tell(focused); else hide(); };
function openFigure(target) {
  const figure = state.figures[Number(target.dataset.figure)];
  const found = figure?.open ? figure : figure?.operands.find((one) => one.open);
  if (found) read(found.open, found.openLine || 0, found.pointer).catch(lost);
}

// -------------------------------------------------------------------------------------------------------------- reader

async function read(path, line, pointer = "") {
  const answer = await fetch("text/" + path.split("/").map(encodeURIComponent).join("/"), { cache: "no-store" });
  if (!answer.ok) return;
  const text = await answer.text(), rows = text.split("\n");
  const found = line || !pointer ? null : path.endsWith(".jsonl") ? inRows(rows, pointer) : inText(text, pointer);
  lines(pointer && found ? `${path} ${pointer}` : path, rows, found ? found.line : line, found);
}

function lines(name, rows, line, value = null) {
  at("reader-name").textContent = name;
  at("reader-lines").replaceChildren(...rows.slice(0, 20000).map((row) => make("span", row)));
  if (!at("reader").open) at("reader").showModal();
  const found = at("reader-lines").children[line - 1];
  if (!found) return;
  found.classList.add("hit");
  if (value) {
    const row = rows[line - 1], mark = make("mark", row.slice(value.from, value.to));
    found.replaceChildren(row.slice(0, value.from), mark, row.slice(value.to));
  }
  (found.querySelector("mark") || found).scrollIntoView({ block: "center", inline: "center" });
}

const steps = (pointer) => pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

// Where the value stands that an RFC 6901 pointer names: its line (from 1) and, on it, its first and last columns. null for none.
function inText(text, pointer) {
  const found = span(text, steps(pointer));
  if (!found) return null;
  const start = text.lastIndexOf("\n", found.from - 1) + 1;
  return { line: text.slice(0, start).split("\n").length, from: found.from - start, to: found.to - start };
}

// The same in a .jsonl file, where the first step is the number of the value, one a line.
function inRows(rows, pointer) {
  const [number, ...rest] = steps(pointer);
  const filled = rows.flatMap((row, n) => row.trim() ? [n] : []);
  const line = filled[Number(number)], found = line === undefined ? null : span(rows[line], rest);
  return found ? { line: line + 1, from: found.from, to: found.to } : null;
}

// First and last position of a value in JSON as it lies there, NaN and all; of an object or a list, of its first bracket.
function span(text, path) {
  const BLANK = " \t\r\n", ENDS = BLANK + ",:[]{}\"";
  let i = 0;
  const blank = () => { while (i < text.length && BLANK.includes(text[i])) i++; };
  const string = () => {
    const from = i++;
    while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
    return text.slice(from, ++i);
  };
  const token = () => { if (text[i] === '"') string(); else { i++; while (i < text.length && !ENDS.includes(text[i])) i++; } };
  const skip = () => {
    let depth = 0;
    do {
      blank();
      if (i >= text.length) return;
      if ("[{".includes(text[i])) { depth++; i++; }
      else if ("]}".includes(text[i])) { depth--; i++; }
      else token();
    } while (depth > 0);
  };
  for (const step of path) {
    blank();
    const open = text[i++];
    if (open !== "{" && open !== "[") return null;
    for (let n = 0; ; n++) {
      blank();
      if (i >= text.length || "]}".includes(text[i])) return null;
      let name = String(n);
      if (open === "{") {
        try { name = JSON.parse(string()); } catch { return null; }
        blank();
        i++;
      }
      if (name === step) break;
      skip();
      blank();
      if (text[i] === ",") i++;
    }
  }
  blank();
  const from = i;
  if ("[{".includes(text[i])) i++; else token();
  return { from, to: i };
}
at("raw").addEventListener("click", () => lines(state.view === "README.md" ? state.view : `${NAMES[state.view] || state.view}: the text`, state.lines, 0));

// -------------------------------------------------------------------------------------------------------------- events

const say = (words, isLost = false) => { at("status").textContent = words; at("status").classList.toggle("lost", isLost); };
const lost = () => say("the command that served this page has ended", true);
const events = new EventSource("events");
events.onmessage = (event) => { if (!state || Number(event.data) !== state.version) load().catch(lost); else say("up to date"); };
events.onerror = () => lost();
if (matchMedia("(max-width: 60rem)").matches) at("findings-box").open = false;
