// Saved starts. Programs send them by their number, and people compose a start for one user from them.

import { h } from "./h.js";
import { call, get, post, segment } from "./api.js";
import { may } from "./session.js";
import { show } from "./patch.js";
import { card, coded, confirm, empty, facts, field, head, moment, notice, table } from "./parts.js";
import { ask, toAsking } from "./router.js";
import { what } from "./away.js";

/** Saves the body of a start as a definition. Returns its number. */
export async function saveDefinition(body) {
  const { notificationKey } = await post("/rest/3.0/createNotificationDefinition", {
    title: body.alert?.title, message: body.alert?.body, platforms: ["IOS"], contentState: body.contentState,
    liveActAttr: body.attributes, liveActAttrType: body.attributesType, groupId: body.groupId,
  });
  return notificationKey;
}

/** The form of a start from a definition, for the user of an address. */
export async function formOfDefinition(asked, signal) {
  const { title, message, liveActAttrType, liveActAttr, contentState } = await get(`/v1/definitions/${segment(asked.get("definition"))}`, signal);
  return { event: "start", type: liveActAttrType, state: contentState, attributes: liveActAttr, filled: null, raw: {
    "choice audience": "users", "audience.users": asked.get("user") ?? "", groupId: asked.get("group") ?? "", "alert.title": title ?? "", "alert.body": message ?? "" } };
}

function page(place, { asked }) {
  const list = h("div.stack");
  const one = h("div.stack");
  place.append(head("Definitions", { sub: coded("A start that is saved under a number, as in Netmera; `sendNotification` sends it to one user."),
    actions: may("send") && h("a.button.main", { href: "#/compose?event=start" }, "Compose a start") }), one, list);

  async function look() {
    try {
      const { items } = await get("/v1/definitions");
      show(list, h("section.card", items.length
        ? table("Definitions", [
          { title: "Key", kind: "name", cell: ({ notificationKey }) => h("a", { href: toAsking({ key: notificationKey }, "definitions"),
            onclick: (event) => { event.preventDefault(); ask({ key: notificationKey }); open(notificationKey); } }, notificationKey) },
          { title: "Type", kind: "name", cell: ({ liveActAttrType }) => liveActAttrType ?? "–" },
          { title: "Group", kind: "name", cell: ({ groupId }) => groupId ?? "given with each send" },
          { title: "Created", kind: "time", cell: ({ createdAt }) => moment(createdAt) },
        ], items, ({ notificationKey }) => notificationKey)
        : empty("No definitions", "Compose a start and save it. Then one call with its number and a user sends it.",
          may("send") && h("a.button", { href: "#/compose?event=start" }, "Compose a start"))));
    } catch (error) { show(list, notice("bad", coded(what(error)))); }
  }

  async function open(key) {
    try {
      const definition = await get(`/v1/definitions/${segment(key)}`);
      show(one, card(`Definition ${key}`, null, h("div.in",
        facts([["Type", definition.liveActAttrType], ["Group", definition.groupId], ["Created", moment(definition.createdAt)]]),
        h("pre.state", JSON.stringify({ liveActAttr: definition.liveActAttr, contentState: definition.contentState }, null, 1)),
        may("send") && sendForm(definition),
        may("admin") && h("div", h("button.danger.small", { type: "button", onclick: () => remove(key) }, "Delete")))));
    } catch (error) { show(one, notice("bad", coded(what(error)))); }
  }

  function sendForm({ notificationKey, groupId }) {
    const user = h("input", { required: true, spellcheck: "false" });
    const group = h("input", { spellcheck: "false", value: groupId ?? "" });
    return h("form.stack", { onsubmit: (event) => {
      event.preventDefault();
      location.hash = toAsking({ event: "start", definition: notificationKey, user: user.value.trim(), group: group.value.trim() }, "compose");
    } }, h("div.pair", field("User id", user, { path: "target.extId" }), field("Group", group, { path: "message.groupId" })),
    h("div", h("button.main", "Compose for this user")));
  }

  async function remove(key) {
    if (!await confirm("Delete this definition?", [h("p", `Calls with ${key} will be refused.`)], "Delete", "danger")) return;
    try {
      await call("DELETE", `/v1/definitions/${segment(key)}`);
      show(one);
      ask({});
      look();
    } catch (error) { show(one, notice("bad", coded(what(error)))); }
  }
  look();
  if (asked.get("key")) open(asked.get("key"));
}

export default { title: "Definitions", show: page };
