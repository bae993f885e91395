// Review and Explore on the server's page: what goes in, how far it is, and what came out.

import { clear, h } from "gs2/dom.js";
import { ask, finished, problemWords } from "gs2/store.js";
import { language, say } from "gs2/words.js";
import "gs2/table-words.js";

/** Bytes of a record at most. */
const LARGEST = 8 * 2 ** 20;

/** Opens a record and shows its review; `id` names a review under way or done. */
export class ReviewPage {
  /**
   * @param {HTMLElement} root
   * @param {string | null} id
   * @param {{go: (hash: string) => void}} app
   */
  constructor(root, id, app) {
    Object.assign(this, { root, id, app, result: null, wanted: true, left: false, job: null, problem: () => "" });
    this.redraw();
    if (id) this.wait();
  }

  stop() {
    this.wanted = false;
    this.left = true;
    this.end?.();
  }

  redraw() {
    if (this.result !== null) this.drawTop(); // the review itself listens to the language
    else if (this.id) this.drawProgress();
    else this.drawForm();
  }

  /**
   * Say what is wrong, and ask for a record again.
   * @param {() => string} problem returns it in the language in use
   */
  fail(problem) {
    if (this.left) return;
    Object.assign(this, { id: null, problem });
    this.drawForm();
  }

  drawForm() {
    // the browser's own words beside a file are in its language, not in the page's
    const file = h("input", { type: "file", class: "visually-hidden", on: { change: () => file.files.length && this.send(file.files[0]) } });
    const preset = (this.preset = h("select", {}, ["fast", "standard"].map((name) => h("option", { value: name, selected: name === this.preset?.value }, name))));
    const area = h("div", { class: "drop", on: {
      dragover: (event) => { event.preventDefault(); area.classList.add("over"); },
      dragleave: () => area.classList.remove("over"),
      drop: (event) => {
        event.preventDefault();
        area.classList.remove("over");
        if (event.dataTransfer.files.length) this.send(event.dataTransfer.files[0]);
      },
    } }, h("p", {}, say("review.drop")), h("label", { class: "button file" }, say("review.file"), file), h("label", { class: "field" }, h("span", {}, say("review.preset")), preset));
    clear(this.root, h("div", { class: "page" }, h("h1", {}, say("review.title")), h("p", {}, say("review.about")), area, h("p", { class: "error", role: "alert" }, this.problem())));
  }

  /** @param {File} file */
  async send(file) {
    if (file.size > LARGEST) {
      this.fail(() => say("review.large", { mb: (file.size / 2 ** 20).toFixed(0) }));
      return;
    }
    const query = new URLSearchParams({ preset: this.preset.value, name: file.name });
    try {
      const job = await ask(`/api/reviews?${query}`, { text: await file.text() });
      if (!this.left) this.app.go(`#/review/${job.id}`);
    } catch (error) {
      this.fail(() => say("review.failed", { text: problemWords(error.code, error.message) }));
    }
  }

  async wait() {
    try {
      this.result = await finished(this.id, (job) => { this.job = job; if (this.wanted) this.drawProgress(); }, () => this.wanted);
      if (this.wanted && this.result) await this.show();
    } catch (error) {
      if (this.wanted) this.fail(() => say("review.failed", { text: problemWords(error.code, error.message) }));
    }
  }

  drawProgress() {
    const { job } = this;
    const known = job !== null && job.of > 0;
    const text = known ? say("review.progress", { done: job.done, of: job.of }) : say("review.waiting");
    if (!this.bar?.isConnected || this.language !== language()) {
      this.language = language();
      this.bar = h("progress", { "aria-label": say("review.title") });
      this.text = h("p", { role: "status" });
      clear(this.root, h("div", { class: "page" }, h("h1", {}, say("review.title")), this.text, this.bar,
        h("p", {}, h("button", { type: "button", on: { click: () => this.cancel() } }, say("review.stop")))));
    }
    this.text.textContent = text;
    if (known) Object.assign(this.bar, { max: job.of, value: job.done });
  }

  async cancel() {
    this.wanted = false;
    await ask(`/api/jobs/${encodeURIComponent(this.id)}`, { method: "DELETE" }).catch(() => null);
    if (!this.left) this.app.go("#/review");
  }

  drawTop() {
    clear(this.top, h("a", { class: "button", href: "#/review" }, say("review.again")));
  }

  async show() {
    const { start } = await import("gs2/review.js");
    if (!this.wanted) return;
    const place = h("div", {});
    this.top = h("p", { class: "page-top" });
    this.drawTop();
    clear(this.root, this.top, place);
    this.end = start(place, this.result);
  }
}

/** Return the request that an address keeps; null if there is none that can be read. */
function readRequest(text) {
  try {
    const request = JSON.parse(text);
    return request !== null && typeof request === "object" ? request : null;
  } catch {
    return null;
  }
}

function keepRequest(request) {
  // replaced, not followed: the page that shows it is already there
  history.replaceState(null, "", `#/explore/${encodeURIComponent(JSON.stringify(request))}`);
}

/** Small games, searched as one asks. */
export class ExplorePage {
  /**
   * @param {HTMLElement} root
   * @param {string} request as the address keeps it
   */
  constructor(root, request) {
    Object.assign(this, { root, wanted: true, request: readRequest(request), end: null });
    this.load();
  }

  stop() {
    this.wanted = false;
    this.end?.();
  }

  /**
   * Return what a search finds; null if it is given up, which the server is told.
   * @param {any} request
   * @param {(job: any) => void} progress
   * @param {AbortSignal} signal
   */
  async search(request, progress, signal) {
    const { id } = await ask("/api/solve", { json: request });
    const result = await finished(id, progress, () => this.wanted && !signal.aborted);
    if (result === null) await ask(`/api/jobs/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => null);
    return result;
  }

  redraw() {
    // the module listens to the language itself
  }

  async load() {
    try {
      const [{ start }, { games }] = await Promise.all([import("gs2/explore.js"), ask("/api/games")]);
      if (!this.wanted) return;
      const place = h("div", {});
      clear(this.root, place);
      this.end = start(place, null, {
        games,
        infosets: (game, grep, most = 200) => ask(`/api/games/${encodeURIComponent(game)}/infosets?${new URLSearchParams({ grep, most: String(most) })}`),
        search: (request, progress, signal) => this.search(request, progress, signal),
        hash: { read: () => this.request, write: keepRequest },
      });
    } catch (error) {
      if (this.wanted) clear(this.root, h("div", { class: "page" }, h("h1", {}, say("app.explore")), h("p", { class: "error", role: "alert" }, say("app.failed", { text: error.message }))));
    }
  }
}
