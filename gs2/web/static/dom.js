// Elements without markup: whatever comes from outside goes in as text and cannot become code.

import { language, setLanguage } from "gs2/words.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * Set an element's attributes.
 * @param {Element} element
 * @param {Object<string, any>} attributes `on`: {event: handler}; `style`: {property: value}; `class`, `role`,
 *   `for`, data-* and aria-* become attributes, other names properties where the element has them; null and
 *   undefined are left out.
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (name === "style") {
      for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    } else if (element.namespaceURI !== SVG && name in element && !name.includes("-") && name !== "list") {
      element[name] = value;
    } else if (value !== false || name.startsWith("aria-")) {
      element.setAttribute(name === "class" ? "class" : name, value === true && !name.startsWith("aria-") ? "" : String(value));
    }
  }
}

/** Append children: nodes, texts, numbers, and lists of them; null and false are left out. */
function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** Return a new HTML element. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  return append(element, children);
}

/** Return a new SVG element. */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  return append(element, children);
}

/** Empty an element and give it new children; return it. */
export function clear(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

/** Return the button that shows the page in the other language. more: attributes; done: called after it was pressed. */
export function languageButton(more = {}, done = () => {}) {
  const other = language() === "en" ? "zh" : "en";
  const press = () => { setLanguage(other); done(); };
  return h("button", { type: "button", lang: other === "zh" ? "zh-Hans" : "en", ...more, on: { click: press } }, other === "zh" ? "中文" : "English");
}

/** Return the head of a table. heads: words of each column, null for none. words: places of columns that hold no numbers. */
export function tableHead(heads, words = [0]) {
  return h("thead", {}, h("tr", {}, heads.map((head, k) => (head === null
    ? h("th", { "aria-hidden": "true" })
    : h("th", { scope: "col", class: words.includes(k) ? null : "number" }, head)))));
}
