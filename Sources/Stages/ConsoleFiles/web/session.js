// The current session.

import { call, setToken } from "./api.js";

const ranks = { read: 1, send: 2, admin: 3 };

/** The key's app, name, role and end of the session. Null before the log-in. */
export let session = null;

function begin(answer) {
  session = answer;
  setToken(answer.token);
  return answer;
}

/** Whether the session's key includes the role. */
export const may = (role) => !!session && ranks[session.role] >= ranks[role];

/** Resumes the session after the page was loaded again. Null if there is no session. */
export async function resume() {
  const answer = await call("GET", "/console/session");
  return answer && begin(answer);
}

export const logIn = async (key) =>
  begin(await call("POST", "/console/session", { headers: { Authorization: `Bearer ${key}` } }));

export async function logOut() {
  try { sessionStorage.clear(); } catch { /* The browser stores nothing. */ }
  try { await call("DELETE", "/console/session"); } finally { forget(); }
}

export function forget() {
  session = null;
  setToken(null);
}
