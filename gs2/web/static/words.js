// What the page says, in English and Chinese.

/** @type {Object<string, [string | null, string]>} each text in both languages; null where English is the server's */
const WORDS = {};

function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // a page without an origin of its own, such as a file, may have no storage
  }
}

let chosen = stored("gs2-language") || ((navigator.language || "en").startsWith("zh") ? "zh" : "en");
document.documentElement.lang = chosen === "zh" ? "zh-Hans" : "en";

/** Add texts: {key: ["with {name}", "有{name}"]}. */
export function addWords(words) {
  Object.assign(WORDS, words);
}

/** Return the language in use, "en" or "zh". */
export function language() {
  return chosen;
}

/** Choose a language; whoever listens to "gs2-language" on the window draws anew. */
export function setLanguage(name) {
  chosen = name === "zh" ? "zh" : "en";
  document.documentElement.lang = chosen === "zh" ? "zh-Hans" : "en";
  try {
    localStorage.setItem("gs2-language", chosen);
  } catch {
    // see `stored`
  }
  window.dispatchEvent(new Event("gs2-language"));
}

/** Return a text in the chosen language, filled in from `params`: {name}, and {name:card|cards} for one and for other numbers. */
export function say(key, params = {}) {
  const [english, chinese] = WORDS[key] ?? [];
  const text = (chosen === "zh" ? chinese : null) ?? english ?? key;
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (whole, name, one, other) => {
    if (!(name in params)) return whole;
    const value = String(params[name]);
    return one === undefined ? value : value === "1" ? one : other;
  });
}

/** Return a number with its sign; what rounding leaves of zero has none. */
export function signed(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : `${value < 0 ? "−" : "+"}${text}`;
}
