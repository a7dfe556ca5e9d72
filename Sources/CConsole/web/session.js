// Who is logged in.

import { call, setToken } from "./api.js";

const ranks = { read: 1, send: 2, admin: 3 };

/** The key's app, name, role and end; null before anybody has logged in. */
export let session = null;

function begin(answer) {
  session = answer;
  setToken(answer.token);
  return answer;
}

/** Whether the key may do what the role may. */
export const may = (role) => !!session && ranks[session.role] >= ranks[role];

/** A page that was loaded again; null when nobody is logged in. */
export async function resume() {
  const answer = await call("GET", "/console/session");
  return answer && begin(answer);
}

export const logIn = async (key) =>
  begin(await call("POST", "/console/session", { headers: { Authorization: `Bearer ${key}` } }));

export async function logOut() {
  try { await call("DELETE", "/console/session"); } finally { forget(); }
}

export function forget() {
  session = null;
  setToken(null);
}
