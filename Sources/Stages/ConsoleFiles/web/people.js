// The page of a user or an installation: its tokens and activities, its pushes, and the reason for its
// display.

import { h } from "./h.js";
import { call, get, segment } from "./api.js";
import { may } from "./session.js";
import { poll } from "./poll.js";
import { show } from "./patch.js";
import { card, choice, coded, confirm, dated, during, empty, facts, field, head, moment, notice, table, tag } from "./parts.js";
import { to, toAsking } from "./router.js";
import { Freshness, what } from "./away.js";
import { events as eventWords, outcomes, plain, remedy, whyKinds } from "./words.js";
import { time } from "./format.js";
import { lockScreens } from "./lockscreens.js";

function finder(kind = "user", name = "") {
  const input = h("input", { type: "search", value: name, required: true, spellcheck: "false", autocapitalize: "none" });
  return h("form.filters", { onsubmit: (event) => {
    event.preventDefault();
    location.hash = to("people", kind, input.value.trim());
  } },
  choice("Find", "kind", [["user", "A user"], ["installation", "An installation"]], kind, (value) => { kind = value; }),
  field("Id", input, { wide: true }), h("button.main", "Show"));
}

export const peoplePage = {
  title: "People",
  show(place) {
    const form = finder();
    place.append(head("People", { sub: "Find out why a phone shows an old score, by your app's user id or by the installation id." }),
      form, h("section.card", empty("Enter an id", "The page shows tokens, activities, pushes and taps, and one sentence about the reason for the display.")));
    form.querySelector("input[type=search]").focus();
  },
};

/** The sentence about one phone or activity. */
const why = (value) => value && h(["warn", "bad"].includes(whyKinds[value.code]) ? `p.card.why.${whyKinds[value.code]}` : "p.card.why",
  dated(value.sentence), h("small", plain(value.code)));

const isOver = ({ state }) => ["ended", "dismissed", "expired"].includes(state);
const needsAction = ({ why: reason }) => reason && ["warn", "bad"].includes(whyKinds[reason.code]);

/** The headline of a person. It counts the activities, because a problem of one says nothing about the others. */
function headline(phones, reason) {
  const running = phones.flatMap((phone) => (phone.activities ?? []).filter((activity) => !isOver(activity)));
  if (running.length < 2) return why(running[0]?.why ?? reason);
  const troubled = running.filter(needsAction);
  if (!troubled.length) return h("p.card.why", `All ${running.length} running activities are as they should be.`);
  return h("div.card.why.warn",
    h("p", `${troubled.length} of ${running.length} running activities ${troubled.length === 1 ? "needs" : "need"} attention; ${running.length - troubled.length} ${running.length - troubled.length === 1 ? "is" : "are"} as ${running.length - troubled.length === 1 ? "it" : "they"} should be.`),
    h("ul", troubled.map((activity) => h("li", h("b", activity.groupId ?? activity.activityId), ": ", dated(activity.why.sentence)))));
}

const activityStates = { active: "live", pending: "live", stale: "warn", ended: "", dismissed: "", expired: "warn", unknown: "warn" };

/** @param said the sentence that is already shown above. */
function installation(phone, said) {
  const of = phone.activities ?? [];
  return card(h("a", { href: to("people", "installation", phone.installationId) }, phone.installationId),
    [phone.os && `iOS ${phone.os}`, phone.environment].filter(Boolean).join(" · "),
    h("div.in",
      phone.why?.sentence !== said && why(phone.why),
      facts([
        ["User", phone.userId && h("a", { href: to("people", "user", phone.userId) }, phone.userId)],
        ["Last report", phone.heardAt && moment(phone.heardAt)],
        ["Build", phone.appBuild], ["Locale", [phone.locale, phone.timeZone].filter(Boolean).join(", ")],
        ["Live Activities", phone.activitiesEnabled === undefined ? undefined : phone.activitiesEnabled ? "switched on" : "switched off"],
        ["Frequent pushes", phone.frequentPushesEnabled === undefined ? undefined : phone.frequentPushesEnabled ? "allowed" : "not allowed"],
        ["Tags", phone.tags?.length ? phone.tags.join(", ") : undefined],
        ["Attributes", phone.attributes && Object.keys(phone.attributes).length ? h("code", JSON.stringify(phone.attributes)) : undefined],
      ]),
      phone.startTokens?.length > 0 && table("Start tokens", [
        { title: "Start token for", kind: "name", cell: ({ attributesType }) => attributesType ?? "every type" },
        { title: "Token", cell: ({ token }) => (token ? h("code", token) : "–") },
        { title: "State", cell: (token) => (token.refusedAt ? tag("bad", "refused by APNs") : token.unregisteredAt ? tag("", "unregistered") : token.token ? tag("good", "good") : tag("warn", "missing")) },
        { title: "Since", kind: "time", cell: (token) => moment(token.refusedAt ?? token.unregisteredAt ?? token.at) },
      ], phone.startTokens),
      of.length > 0 && table("Activities", [
        { title: "Activity", kind: "name", cell: ({ activityId }) => activityId },
        { title: "Group", kind: "name", cell: ({ groupId }) => (groupId ? h("a", { href: to("groups", groupId) }, groupId) : "–") },
        { title: "State", cell: ({ state }) => tag(activityStates[state] ?? "", state) },
        { title: "Why", kind: "name", cell: (activity) => dated(activity.why?.sentence) ?? "–" },
      ], of, ({ activityId }) => activityId)));
}

/** The reason for a push's outcome. Only a rejected push has an answer of APNs. */
function pushReason({ outcome, reason }) {
  if (outcome === "superseded") return "A newer state replaced it before it was sent.";
  if (!reason) return undefined;
  return outcome === "rejected" || outcome === "moved" ? `APNs answered ${reason}. ${remedy(reason)}` : plain(reason);
}

function timeline(pushes, events) {
  const entries = [
    ...pushes.map((push) => {
      const [kind, word] = outcomes[push.outcome] ?? ["", push.outcome];
      return { at: push.at, kind, text: [`${push.event} ${word}`, push.groupId && `of ${push.groupId}`].filter(Boolean).join(", "),
        aside: [pushReason(push), push.dueAt && `The next attempt is at ${time(push.dueAt)}.`]
          .filter(Boolean).join(" ") || undefined, send: push };
    }),
    ...events.map((event) => ({ at: event.at, kind: event.code === "tap" ? "good" : "", text: [eventWords[event.code] ?? event.code, event.cause && plain(event.cause), event.groupId && `of ${event.groupId}`].filter(Boolean).join(", "),
      aside: [event.attributesType, event.token].filter(Boolean).join(" · ") || undefined })),
  ].sort((a, b) => b.at - a.at);
  const marks = { good: "✓", bad: "×", warn: "!", live: "●" };
  return card("Timeline", "the newest first", entries.length
    ? h("ol.timeline", entries.map(({ at, kind, text, aside, send }) => h("li", moment(at),
      h(kind ? `span.dot.${kind}` : "span.dot", { "aria-hidden": "true" }, marks[kind] ?? "○"),
      h("div.what", send ? h("a", { href: toAsking({ at: send.acceptedAt }, "sends", send.sendId) }, text) : text, aside && h("div.note", aside)))))
    : empty("Nothing yet", "Pushes, reports and taps of the last days are listed here."));
}

async function erase(user, button, say) {
  const typed = h("input", { spellcheck: "false", autocomplete: "off" });
  const isMeant = await confirm("Erase this user everywhere?", [
    h("p", "Tokens, activities, schedules and profile are erased permanently. Other records expire: groups and starts within 3 days; sends, progress and receipts within 7; events and dead letters within 30; the audit within 400."),
    field(`Type ${user} to confirm`, typed)], "Erase", "danger");
  if (!isMeant) return;
  if (typed.value.trim() !== user) return say(notice("warn", "Nothing was erased: the typed name does not match."));
  try {
    await during(button, () => call("DELETE", `/v1/users/${segment(user)}`));
    say(notice("good", "The erasure has started in every partition."));
  } catch (error) { say(notice("bad", coded(what(error)))); }
}

function person(place, kind, id) {
  const freshness = new Freshness();
  let found = null;
  let told = null;
  const body = h("div.stack");
  place.append(head(id, { back: { href: "#/people", text: "People" }, sub: kind === "user" ? "A user" : "An installation",
    actions: kind === "user" && may("send") && h("button.danger", { type: "button", onclick: (event) =>
      erase(id, event.target, (said) => { told = said; draw(); }) }, "Erase …") }), body);

  function draw() {
    const said = [...freshness.notices(), told].filter(Boolean);
    if (!found) return show(body, ...said, said.length ? null : h("p.note", "Looking …"));
    const phones = kind === "user" ? found.installations ?? [] : [found];
    show(body, ...said, headline(phones, found.why),
      kind === "user" && (found.tags?.length || found.attributes) && card("Profile", "set by the backend", h("div.in", facts([
        ["Tags", found.tags?.join(", ")], ["Attributes", found.attributes && h("code", JSON.stringify(found.attributes))]]))),
      phones.map((phone) => [lockScreens(phone), installation(phone, found.why?.sentence)]),
      found.schedules?.length > 0 && card("Waiting schedules", null, table("Schedules", [
        { title: "Due", kind: "time", cell: ({ dueAt }) => moment(dueAt) },
        { title: "Schedule", kind: "name", cell: (one) => one.name ?? one.id ?? one.sendId },
        { title: "Event", cell: ({ event }) => event },
        { title: "Activity", kind: "name", cell: (one) => one.activity ?? one.groupId ?? "–" },
      ], found.schedules, ({ sendId }) => sendId)),
      timeline(found.pushes ?? [], found.events ?? []));
  }

  const stop = poll((signal) => get(`/v1/${kind === "user" ? "users" : "installations"}/${segment(id)}`, signal), (answer) => {
    freshness.took(answer);
    found = answer;
    draw();
  }, (error) => {
    if (error.status === 404 && !found) {
      return show(body, finder(kind, id), card("Not found", null, empty(`No ${kind} of this app has this id`, "It has reported nothing, or it belongs to another app. Ids must match exactly.")));
    }
    freshness.failed(error);
    draw();
  }, 2000);
  draw();
  return stop;
}

export const userPage = { title: "User", show: (place, { parameters: { id } }) => person(place, "user", id) };
export const installationPage = { title: "Installation", show: (place, { parameters: { id } }) => person(place, "installation", id) };
