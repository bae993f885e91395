// The least of a browser that the page's modules ask for: elements, storage, sockets, and a clock that tests move.

import { register } from "node:module";

const found = JSON.stringify(JSON.parse(process.env.GS2_MODULES));
register(`data:text/javascript,${encodeURIComponent(`
  const found = ${found};
  export async function resolve(name, context, next) {
    const url = name === "browser" ? ${JSON.stringify(import.meta.url)} : found[name];
    return url ? { url, format: "module", shortCircuit: true } : next(name, context);
  }`)}`);

const OWN = {
  a: { href: "", download: "" },
  button: { type: "submit", disabled: false, value: "" },
  details: { open: false },
  dialog: { open: false },
  input: { type: "text", value: "", checked: false, disabled: false, min: "", max: "", step: "", placeholder: "", pattern: "", name: "", autocomplete: "", inputMode: "", maxLength: -1, readOnly: false, spellcheck: true, files: [] },
  option: { value: "", selected: false, disabled: false },
  progress: { value: 0, max: 1 },
  select: { disabled: false },
};

/** Return whether an element is what a selector without spaces asks for: tag.class[name="value"]. */
function fits(element, selector) {
  const parts = selector.trim().match(/^[\w-]+|\.[\w-]+|\[[^\]]+\]/g) ?? [];
  return parts.every((part) => {
    if (part[0] === ".") return element.classes.includes(part.slice(1));
    if (part[0] !== "[") return element.tagName === part.toUpperCase();
    const [, name, value] = /^\[([\w-]+)(?:=["']?([^"'\]]*)["']?)?\]$/.exec(part);
    const has = element.getAttribute(name);
    return value === undefined ? has !== null && has !== false : String(has) === value;
  });
}

class BrowserNode {
  parentNode = null;
}

class Text extends BrowserNode {
  constructor(text) {
    super();
    this.textContent = text;
  }
}

class Element extends BrowserNode {
  constructor(tag) {
    super();
    Object.assign(this, { tagName: tag.toUpperCase(), namespaceURI: "html", childNodes: [], attributes: {}, heard: {}, dataset: {}, validity: { valid: true }, style: { setProperty() {} } });
    Object.assign(this, { id: "", title: "", lang: "", hidden: false, tabIndex: 0, autofocus: false, scrollTop: 0, scrollHeight: 0 }, OWN[tag]);
    const { attributes } = this;
    this.classList = {
      toggle: (name, on = !this.classes.includes(name)) => { attributes.class = [...this.classes.filter((one) => one !== name), ...(on ? [name] : [])].join(" "); },
      add: (name) => this.classList.toggle(name, true),
      remove: (name) => this.classList.toggle(name, false),
      contains: (name) => this.classes.includes(name),
    };
    if (tag === "select") Object.defineProperty(this, "value", { get: () => this.chosen?.value ?? "", set: (value) => this.querySelectorAll("option").forEach((one) => { one.selected = one.value === value; }) });
  }

  get chosen() {
    const options = this.querySelectorAll("option");
    return options.filter((one) => one.selected).at(-1) ?? options[0];
  }

  get classes() {
    return (this.attributes.class ?? "").split(" ");
  }

  get textContent() {
    return this.childNodes.map((one) => one.textContent).join("");
  }

  set textContent(text) {
    this.replaceChildren();
    this.append(text);
  }

  get isConnected() {
    return this === document.body || (this.parentNode?.isConnected ?? false);
  }

  append(...children) {
    for (const child of children) {
      const node = child instanceof BrowserNode ? child : new Text(String(child));
      node.parentNode = this;
      this.childNodes.push(node);
    }
  }

  replaceChildren() {
    this.childNodes.forEach((one) => { one.parentNode = null; });
    this.childNodes.length = 0;
  }

  remove() {
    if (this.parentNode !== null) this.parentNode.childNodes.splice(this.parentNode.childNodes.indexOf(this), 1);
    this.parentNode = null;
  }

  setAttribute(name, value) {
    if (name.startsWith("data-")) this.dataset[name.slice(5)] = String(value);
    else this.attributes[name] = String(value);
  }

  removeAttribute(name) {
    delete this.attributes[name];
  }

  getAttribute(name) {
    return (name.startsWith("data-") ? this.dataset[name.slice(5)] : (this.attributes[name] ?? this[name])) ?? null;
  }

  addEventListener(type, act) {
    (this.heard[type] ??= []).push(act);
  }

  removeEventListener(type, act) {
    this.heard[type] = (this.heard[type] ?? []).filter((one) => one !== act);
  }

  /** Have something happen here, and to what is around it. */
  happen(type, more = {}) {
    const event = { type, target: this, preventDefault() {}, ...more };
    for (let at = this; at !== null; at = at.parentNode) (at.heard[type] ?? []).forEach((act) => act(event));
  }

  click() {
    this.happen("click");
  }

  /** Set a field as a person does. */
  enter(value) {
    if (this.type === "checkbox") this.checked = value;
    else this.value = value;
    this.happen("input");
    this.happen("change");
  }

  focus() {
    document.activeElement = this;
  }

  showModal() {}

  /** Close a dialog. */
  close() {
    this.happen("close");
  }

  contains(other) {
    for (let at = other; at; at = at.parentNode) if (at === this) return true;
    return false;
  }

  matches(selectors) {
    return selectors.split(",").some((one) => fits(this, one));
  }

  closest(selectors) {
    return this.matches(selectors) ? this : (this.parentNode?.closest(selectors) ?? null);
  }

  querySelectorAll(selectors) {
    return this.childNodes.filter((one) => one instanceof Element).flatMap((one) => [...(one.matches(selectors) ? [one] : []), ...one.querySelectorAll(selectors)]);
  }

  querySelector(selectors) {
    return this.querySelectorAll(selectors)[0] ?? null;
  }
}

/** All sockets that were opened, the last one last. */
export const sockets = [];

class Socket extends Element {
  static OPEN = 1;

  constructor(address) {
    super("socket");
    Object.assign(this, { address, readyState: 0, sent: [] });
    sockets.push(this);
  }

  /** Be connected, and hear these messages. */
  open(...messages) {
    this.readyState = Socket.OPEN;
    this.happen("open");
    this.say(...messages);
  }

  say(...messages) {
    messages.forEach((message) => this.happen("message", { data: JSON.stringify(message) }));
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.readyState = 3;
    this.happen("close");
  }
}

const real = { setTimeout, setImmediate };
const timers = new Map();
let now = 0;
let count = 0;

/** Let what has been begun come to rest. */
async function rest() {
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => real.setImmediate(resolve));
}

/** Let time pass on the page, in milliseconds. */
export async function pass(milliseconds) {
  const end = now + milliseconds;
  for (;;) {
    await rest();
    const [next] = [...timers].filter(([, timer]) => timer.at <= end).sort(([, a], [, b]) => a.at - b.at);
    if (!next) break;
    timers.delete(next[0]);
    now = next[1].at;
    next[1].act();
  }
  now = end;
}

/** Wait until something is so, as long as a module may take to be loaded. */
export async function until(so) {
  for (let i = 0; i < 1000 && !so(); i += 1) {
    await new Promise((resolve) => real.setTimeout(resolve, 10));
    await rest();
  }
  if (!so()) throw new Error(`never so: ${so}`);
}

/** What was asked of the server: [method, path, body]. */
export const asked = [];
/** What the server answers: called with path, method and body, it returns JSON, or throws {status, …} or Error. */
export const server = { answer: () => null };

/** Return a new page's element. */
export function newRoot() {
  const root = new Element("main");
  document.body.append(root);
  return root;
}

/** Hand something plain to the test, and end. */
export function report(value) {
  process.stdout.write(JSON.stringify(value), () => process.exit(0));
}

const body = new Element("body");
Object.assign(globalThis, {
  Node: BrowserNode,
  WebSocket: Socket,
  InputEvent: class extends Event {},
  window: new EventTarget(),
  document: Object.assign(new Element("document"), {
    body, activeElement: body, documentElement: new Element("html"),
    createElement: (tag) => new Element(tag), createElementNS: (_, tag) => new Element(tag), createTextNode: (text) => new Text(text),
  }),
  location: { hash: "", protocol: "http:", host: "here" },
  history: { replaceState: (_, __, hash) => { location.hash = hash; } },
  setTimeout: (act, wait = 0) => { timers.set((count += 1), { at: now + wait, act }); return count; },
  clearTimeout: (timer) => timers.delete(timer),
  localStorage: { kept: {}, getItem(name) { return this.kept[name] ?? null; }, setItem(name, text) { this.kept[name] = text; }, removeItem(name) { delete this.kept[name]; } },
  fetch: async (path, { method = "GET", body: given } = {}) => {
    const data = given === undefined ? null : JSON.parse(given);
    asked.push([method, path, data]);
    try {
      const answer = await server.answer(path, method, data);
      return { ok: true, status: 200, statusText: "", json: async () => answer };
    } catch (error) {
      if (!error.status) throw error;
      return { ok: false, status: error.status, statusText: "", json: async () => error };
    }
  },
});
Object.defineProperty(globalThis, "navigator", { value: { language: "en" }, configurable: true });
