// A person's turn: a clock that may run out, and play that goes on without the person.

import { keep, kept } from "gs2/store.js";

/** Seconds for a turn that may be chosen; 0 for no limit. */
export const LIMITS = [0, 15, 30, 60];
/** Milliseconds until a turn is taken for the person. */
const AUTO = 800;

/** Counts the seconds of a turn, and has it taken when they are over, or at once where play is automatic. */
export class TurnClock {
  /** @param {{act: () => void, tick: (left: number) => void}} told act: take the turn. tick: seconds left, 0 for no limit */
  constructor(told) {
    const limit = Number(kept("turn-limit", "0"));
    Object.assign(this, { told, limit: LIMITS.includes(limit) ? limit : 0, auto: false, asked: null, left: 0, timer: 0 });
  }

  /** Hear what is asked of the person, null for nothing; the same as before goes on as it was. */
  ask(what) {
    if (what === this.asked) return;
    this.asked = what;
    this.start();
  }

  /** Choose the limit in seconds, or whether play is automatic. */
  set({ limit = this.limit, auto = this.auto }) {
    Object.assign(this, { limit, auto });
    keep("turn-limit", String(limit));
    this.start();
  }

  /** Begin the turn that is asked anew. */
  start() {
    clearTimeout(this.timer);
    const runs = this.asked !== null && !this.auto;
    this.left = runs ? this.limit : 0;
    if (this.asked !== null && this.auto) this.timer = setTimeout(() => this.told.act(), AUTO);
    else if (this.left > 0) this.count();
    this.told.tick(this.left);
  }

  count() {
    this.timer = setTimeout(() => {
      this.left -= 1;
      this.told.tick(this.left);
      if (this.left > 0) this.count();
      else this.told.act();
    }, 1000);
  }

  stop() {
    clearTimeout(this.timer);
  }
}
