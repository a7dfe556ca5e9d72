// The API keys of the app. The text of a key is shown once, after it was created.

import { h } from "./h.js";
import { call, get, segment } from "./api.js";
import { show } from "./patch.js";
import { card, coded, confirm, during, empty, field, head, moment, notice, select, table, tag } from "./parts.js";
import { session } from "./session.js";
import { what } from "./away.js";
import { refusalNotice } from "./problems.js";
import { serverNow } from "./clock.js";

const roles = [["report", "report: what a phone may do"], ["read", "read"], ["send", "send and read"], ["admin", "admin: everything"]];
const day = 86_400_000;
const lifetimes = [["", "no end"], ["30", "30 days"], ["90", "90 days"], ["365", "a year"]];

function stateOf({ revokedAt, expiresAt }) {
  if (revokedAt) return tag("bad", "revoked");
  return expiresAt && expiresAt <= serverNow() ? tag("warn", "expired") : tag("good", "valid");
}

const isOver = ({ revokedAt, expiresAt }) => revokedAt !== undefined || (expiresAt !== undefined && expiresAt <= serverNow());

function page(place) {
  const list = h("div.stack");
  const said = h("div.stack");
  const name = h("input", { spellcheck: "false", placeholder: "backend" });
  const role = select(roles, "send");
  const lifetime = select(lifetimes, "");

  async function look() {
    try {
      const { items } = await get("/v1/keys");
      show(list, h("section.card", items.length ? table("Keys", [
        { title: "Id", kind: "name", cell: ({ id }) => [h("code", id), id === session.keyId && h("div.note", "your own")] },
        { title: "Name", kind: "name", cell: (key) => key.name ?? "–" },
        { title: "Role", cell: (key) => key.role },
        { title: "State", cell: stateOf },
        { title: "Created", kind: "time", cell: ({ createdAt }) => moment(createdAt) },
        { title: "Ends", kind: "time", cell: ({ expiresAt }) => moment(expiresAt) },
        { title: "", spoken: "Actions", cell: (key) => { const [word, act] = isOver(key) ? ["Delete", remove] : ["Revoke", revoke];
          return h("button.small.danger", { type: "button", "aria-label": `${word} ${key.name ?? key.id}`, onclick: () => act(key) }, word); } },
      ], items, ({ id }) => id) : empty("No keys", "Programs and people show a key with each call.")));
    } catch (error) { show(list, notice("bad", coded(what(error)))); }
  }

  async function revoke(key) {
    const own = key.id === session.keyId ? " It is the key of this session, so you are logged out." : "";
    if (await confirm(`Revoke ${key.name ?? key.id}?`, [h("p", `Calls with this key are refused within a second.${own} A revoked key cannot come back.`)], "Revoke", "danger")) await end(key);
  }

  async function remove(key) {
    if (await confirm(`Delete ${key.name ?? key.id}?`, [h("p", "The key is invalid already. Its name and its times are no longer listed. The audit keeps them.")], "Delete", "danger")) await end(key);
  }

  /** Revokes a valid key, and deletes an invalid one. */
  async function end(key) {
    try {
      await call("DELETE", `/v1/keys/${segment(key.id)}`);
      look();
    } catch (error) { show(said, notice("bad", coded(what(error)))); }
  }

  async function create(button) {
    const days = Number(lifetime.value);
    const made = await during(button, () => call("POST", "/v1/keys", { body: {
      role: role.value, name: name.value.trim() || undefined, expiresAt: days ? Math.floor((serverNow() + days * day) / 1000) : undefined } }));
    show(said, notice("good", "This is the key. It is shown only now, so store it in a safe place.", h("p.secret", made.key)));
    name.value = "";
    look();
  }

  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    try { await create(event.submitter); } catch (error) { show(said, refusalNotice(form, error)); }
  } }, card("New key", null, h("div.in", h("div.pair", field("Name", name, { path: "name" }), field("Role", role, { path: "role" }), field("Valid for", lifetime, { path: "expiresAt" })),
    h("div", h("button.main", "Create")))));
  place.append(head("Keys", { sub: "A key belongs to this app and has one role." }), said, list, form);
  look();
}

export default { title: "Keys", role: "admin", show: page };
