// Calls to the server with the current session.

import { noteServerTime } from "./clock.js";

/** A call's answer that is an error. */
export class Refusal extends Error {
  constructor(status, body) {
    const error = body?.error ?? {};
    super(error.message ?? `the server answered ${status}`);
    this.status = status;
    this.code = error.code ?? "";
    this.problems = body?.problems ?? (error.field ? [error] : []);
    /** Whether the server is unreachable or cannot answer now. */
    this.isAway = status === 0 || status === 502 || status === 503 || status === 504;
  }
}

const listeners = new Set();
let token = null;

/** Registers a listener for the end of the session. */
export const onEnd = (listener) => listeners.add(listener);

export function setToken(value) {
  // Another session may belong to another app.
  if (value !== token) known.clear();
  token = value;
}

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
  const askedAt = performance.now();
  try {
    const answer = await fetch(path, { method, headers, body, signal, credentials: "same-origin", cache: "no-store" });
    noteServerTime(answer.headers.get("Date"), askedAt);
    return answer;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refusal(0, { error: { code: "unreachable", message: "the gateway does not answer" } });
  }
}

async function checked(answer) {
  if (answer.ok) return answer;
  let body = null;
  try { body = await answer.json(); } catch { /* A proxy answered without JSON. */ }
  const refusal = new Refusal(answer.status, body);
  if (answer.status === 401 && token) {
    token = null;
    for (const listener of listeners) listener(refusal);
  }
  throw refusal;
}

/** Returns the answer's JSON, or null if there is none. */
export async function call(method, path, options = {}) {
  const answer = await checked(await fetched(method, path, options));
  return answer.status === 204 ? null : answer.json();
}

/** The newest answers of paths with an entity tag. The server sends an answer again only if it has changed. */
const known = new Map();
const knownMax = 40;

function remember(path, answer) {
  known.delete(path);
  known.set(path, answer);
  if (known.size > knownMax) known.delete(known.keys().next().value);
}

/** Returns the JSON of a path. */
export async function get(path, signal) {
  const before = known.get(path);
  const headers = before ? { "If-None-Match": before.tag } : {};
  const answer = await fetched("GET", path, { signal, headers });
  if (answer.status === 304 && before) return before.body;
  const body = answer.status === 204 ? null : await (await checked(answer)).json();
  const tag = answer.headers.get("ETag");
  if (tag) remember(path, { tag, body });
  return body;
}

export const post = (path, body, headers) => call("POST", path, { body, headers });

/** Downloads a file. */
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

/** Returns a path with a query of the non-empty fields. */
export function query(path, fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== "");
  if (!given.length) return path;
  return path + "?" + new URLSearchParams(given);
}

export const segment = encodeURIComponent;
