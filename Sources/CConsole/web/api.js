// Calls the server, as whoever is logged in.

/** What a call was answered that did not do what was asked. */
export class Refusal extends Error {
  constructor(status, body) {
    const error = body?.error ?? {};
    super(error.message ?? `the server answered ${status}`);
    this.status = status;
    this.code = error.code ?? "";
    this.problems = body?.problems ?? (error.field ? [error] : []);
    /** There is nobody at the other end, or nobody who can answer now. */
    this.isAway = status === 0 || status === 502 || status === 503 || status === 504;
  }
}

const listeners = new Set();
let token = null;

/** Who wants to know that the session has ended. */
export const onEnd = (listener) => listeners.add(listener);

export function setToken(value) { token = value; }

const limitMilliseconds = 40_000;

async function fetched(method, path, options) {
  const headers = { ...options.headers };
  if (token && !headers.Authorization) headers["flotilla-console"] = token;
  let body;
  if (options.body !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(options.body);
  }
  const limit = AbortSignal.timeout(limitMilliseconds);
  const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
  try {
    return await fetch(path, { method, headers, body, signal, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refusal(0, { error: { code: "unreachable", message: "the gateway does not answer" } });
  }
}

async function checked(answer) {
  if (answer.ok) return answer;
  let body = null;
  try { body = await answer.json(); } catch { /* A proxy's own words. */ }
  const refusal = new Refusal(answer.status, body);
  if (answer.status === 401 && token) {
    token = null;
    for (const listener of listeners) listener(refusal);
  }
  throw refusal;
}

/** The answer's JSON; null where there is none. */
export async function call(method, path, options = {}) {
  const answer = await checked(await fetched(method, path, options));
  return answer.status === 204 ? null : answer.json();
}

export const get = (path, signal) => call("GET", path, { signal });
export const post = (path, body, headers) => call("POST", path, { body, headers });

/** A file, as a person keeps it. */
export async function download(path, name) {
  const answer = await checked(await fetched("GET", path, {}));
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return answer.headers.get("Next-Cursor");
}

/** A path with what is not empty of `fields` behind its question mark. */
export function query(path, fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== "");
  if (!given.length) return path;
  return path + "?" + new URLSearchParams(given);
}

export const segment = encodeURIComponent;
