// The sessions of this browser, one for each app whose key has logged in. This tab uses one of them.

import { call, query, setToken } from "./api.js";

const ranks = { read: 1, send: 2, admin: 3 };

/** The key's app, name, role and end of the session. Null before the log-in. */
export let session = null;
/** The sessions of other apps. */
export let otherSessions = [];

// The app of this tab. Other tabs may use other apps.
const storage = "app";
const storedApp = () => { try { return sessionStorage.getItem(storage) ?? undefined; } catch { return undefined; } };
const store = (app) => { try { sessionStorage.setItem(storage, app); } catch { /* The browser stores nothing. */ } };

function begin(answer) {
  session = answer;
  setToken(answer.token);
  store(answer.app);
  return answer;
}

/** Whether the session's key includes the role. */
export const may = (role) => !!session && ranks[session.role] >= ranks[role];

/** Resumes the session of this tab's app, or of another app. Null if there is no session. */
export async function resume() {
  const answer = await call("GET", query("/console/session", { app: storedApp() }));
  otherSessions = answer?.others ?? [];
  return answer && begin(answer);
}

/** Logs in with a key. The sessions of other apps stay. */
export async function logIn(key) {
  const answer = await call("POST", "/console/session", { headers: { Authorization: `Bearer ${key}` } });
  const all = session ? [session, ...otherSessions] : otherSessions;
  otherSessions = all.filter(({ app }) => app !== answer.app);
  return begin(answer);
}

/** Uses the session of another app in this tab. */
export function switchTo(app) {
  const next = otherSessions.find((one) => one.app === app);
  if (!next) return session;
  otherSessions = [...(session ? [session] : []), ...otherSessions.filter((one) => one.app !== app)];
  return begin(next);
}

/** Ends the session of this tab's app in this browser. */
export async function logOut() {
  try { sessionStorage.removeItem(`drafts ${session.app}`); } catch { /* The browser stores nothing. */ }
  try { await call("DELETE", "/console/session"); } finally { forget(); }
}

export function forget() {
  session = null;
  setToken(null);
}
