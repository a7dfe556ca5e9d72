// The activity types of the app: their schemas and their layouts.

import { h } from "./h.js";
import { call, get, segment } from "./api.js";
import { may } from "./session.js";
import { show } from "./patch.js";
import { card, coded, confirm, empty, facts, field, head, notice, table, tag } from "./parts.js";
import { to } from "./router.js";
import { what } from "./away.js";
import { TypeForm } from "./typeform.js";

/** A list has names only. The page reads this many types in whole. */
const detailsMax = 50;

const yes = (is) => (is ? tag("good", "yes") : tag("", "no"));

function listPage(place) {
  const body = h("div.stack");
  const name = h("input", { required: true, spellcheck: "false", placeholder: "MatchAttributes" });
  place.append(head("Activity types", { sub: "The Swift types of the app's Live Activities: what a phone can decode, and how people see it." }),
    may("admin") && h("form.filters", { onsubmit: (event) => { event.preventDefault(); location.hash = to("types", name.value.trim()); } },
      field("Name of a new type", name), h("button.main", "New type")) || "", body);
  async function look() {
    const { items } = await get("/v1/activity-types");
    const whole = await Promise.all(items.slice(0, detailsMax).map(({ name: id }) => get(`/v1/activity-types/${segment(id)}`)));
    draw([...whole, ...items.slice(detailsMax)]);
  }

  const draw = (items) => show(body, h("section.card", items.length
    ? table("Activity types", [
      { title: "Type", kind: "name", cell: (type) => h("a", { href: to("types", type.name) }, type.name) },
      { title: "Schema", cell: (type) => yes(type.contentStateSchema) },
      { title: "Layout", cell: (type) => yes(type.layout) },
      { title: "Private groups", cell: (type) => yes(type.private) },
      { title: "Token lifetime", cell: (type) => type.updateTokenTtl ?? "–" },
    ], items, (type) => type.name)
    : empty("No types", "A type with a schema keeps content from phones that they cannot decode.")));
  look().catch((error) => show(body, notice("bad", coded(what(error)))));
}

export const typesPage = { title: "Activity types", show: listPage };

function onePage(place, { parameters: { name } }) {
  const body = h("div.stack");
  place.append(head(name, { back: { href: "#/types", text: "Activity types" }, sub: may("admin") ? "Changes take effect at once on every gateway." : "Only a key of the role admin may change it." }), body);

  async function look() {
    let type = null;
    try { type = await get(`/v1/activity-types/${segment(name)}`); } catch (error) {
      if (error.status !== 404) return show(body, notice("bad", coded(what(error))));
    }
    if (!may("admin")) return show(body, type ? shown(type) : empty("There is no such type"));
    body.replaceChildren(new TypeForm(name, type, { saved: () => location.assign("#/types"), remove: type && remove }).element);
  }

  const shown = (type) => card("As it is", null, h("div.in",
    facts([["Token lifetime", type.updateTokenTtl], ["Attribute of the group", type.groupAttribute], ["Required attributes", type.requiredAttributes?.join(", ")]]),
    h("pre.state", JSON.stringify({ contentStateSchema: type.contentStateSchema, attributesSchema: type.attributesSchema, layout: type.layout }, null, 1))));

  async function remove() {
    if (!await confirm(`Delete ${name}?`, [h("p", "Sends of this type are no longer checked against its schema. Running activities stay.")], "Delete", "danger")) return;
    await call("DELETE", `/v1/activity-types/${segment(name)}`);
    location.assign("#/types");
  }
  look();
}

export const typePage = { title: "Activity type", show: onePage };
