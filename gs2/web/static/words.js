// What the page says, in English and Chinese.

const WORDS = { en: {}, zh: {} };

function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // a page without an origin of its own, such as a file, may have no storage
  }
}

let chosen = stored("gs2-language") || ((navigator.language || "en").startsWith("zh") ? "zh" : "en");
document.documentElement.lang = chosen === "zh" ? "zh-Hans" : "en";

/** Add texts: {en: {key: "with {name}"}, zh: {…}}. */
export function addWords(words) {
  for (const [name, texts] of Object.entries(words)) Object.assign(WORDS[name], texts);
}

/** Return the language in use, "en" or "zh". */
export function language() {
  return chosen;
}

/** Choose a language; whoever listens to "gs2-language" on the window draws anew. */
export function setLanguage(name) {
  chosen = name in WORDS ? name : "en";
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
  const text = WORDS[chosen][key] ?? WORDS.en[key] ?? key;
  return text.replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (whole, name, one, other) => {
    if (!(name in params)) return whole;
    const value = String(params[name]);
    return one === undefined ? value : value === "1" ? one : other;
  });
}
