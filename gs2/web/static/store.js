// What the browser keeps: name, seats, ways to show; and requests to the server.

import { say } from "gs2/words.js";

/** Return a kept text, or `otherwise`. */
export function kept(name, otherwise = "") {
  try {
    return localStorage.getItem(`gs2-${name}`) ?? otherwise;
  } catch {
    return otherwise; // storage may be forbidden; the page works without
  }
}

/** Keep a text; null forgets it. */
export function keep(name, text) {
  try {
    if (text === null) localStorage.removeItem(`gs2-${name}`);
    else localStorage.setItem(`gs2-${name}`, text);
  } catch {
    // see `kept`
  }
}

/** Code of a request that had no answer. */
const UNREACHED = "unreached";
/** Attempts in a row to hear of a job, until it is given up. */
const ATTEMPTS = 6;

/** An answer that was no success: its message is for people, in their language where its code has words. */
export class RequestError extends Error {
  constructor(text, code) {
    super(problemWords(code, text));
    this.code = code;
  }
}

/** Return what to tell people of a refusal: words for its code, or the server's own. */
export function problemWords(code, text) {
  const key = `error.${code}`;
  const told = say(key);
  return told === key ? text : told;
}

/**
 * Ask the server; return its JSON.
 * @param {string} path
 * @param {{method?: string, json?: any, text?: string}} [options] json or text: the body
 */
export async function ask(path, { method, json, text } = {}) {
  const body = json === undefined ? text : JSON.stringify(json);
  let response;
  try {
    response = await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      body,
      headers: json === undefined ? {} : { "content-type": "application/json" },
    });
  } catch (error) {
    throw new RequestError(String(error.message ?? error), UNREACHED);
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new RequestError(answer?.error ?? answer?.text ?? `${response.status} ${response.statusText}`, answer?.code);
  return answer;
}

/**
 * Wait for a job; return its result.
 * @param {string} id
 * @param {(job: any) => void} progress told each time it was asked for
 * @param {() => boolean} wanted whether anybody still waits
 */
export async function finished(id, progress, wanted = () => true) {
  let left = ATTEMPTS;
  for (let wait = 150; wanted(); wait = Math.min(1000, wait * 1.3)) {
    try {
      const job = await ask(`/api/jobs/${encodeURIComponent(id)}`);
      if (job.status === "done") return job.result;
      if (job.status !== "waiting" && job.status !== "running") throw new RequestError(job.error ?? job.status, job.status);
      left = ATTEMPTS;
      progress(job);
    } catch (error) {
      left -= 1;
      if (error.code !== UNREACHED || left === 0) throw error; // the job goes on while the network is away
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
  return null;
}
