// The audience of a send in words, for its confirmation and for lists of sends.

import { counted } from "./format.js";
import { plain } from "./words.js";

const plurals = { segment: "segments", tag: "tags", user: "users", activity: "activities" };
const shownMax = 3;

/** Names of one kind: `segment vip`, or `2 tags (a, b)`. */
function named(one, names, number = names.length) {
  if (number === 1) return `${one} ${names[0]}`;
  return `${counted(number, one, plurals[one])} (${names.slice(0, shownMax).join(", ")}${number > shownMax ? ` and ${number - shownMax} more` : ""})`;
}

const conditions = ({ segments, tags }, word) => [segments && named("segment", segments), tags && named("tag", tags)].filter(Boolean).join(word);

/** The audience of a body: `segment vip and tag home-fan, without tag press`. */
export function audienceWords({ event, audience }) {
  if (audience === undefined || audience === "group") return event === "start" ? "everyone" : "everyone with it";
  if (audience === "everyone") return "everyone";
  const { users, activities, exclude } = audience;
  if (users) return named("user", users);
  if (activities) return named("activity", activities);
  const whole = conditions(audience, " and ") || "everyone";
  return exclude ? `${whole}, without ${conditions(exclude, " or ")}` : whole;
}

const kinds = { segments: "segment", tags: "tag", users: "user", activities: "activity" };

/** The audience of a stored send. The server keeps its first names and their number. */
export function storedAudience({ audience, event }) {
  if (!audience) return undefined;
  const { kind, names = [], count = names.length } = audience;
  if (kind === "everyone") return "everyone";
  if (kind === "group") return event === "start" ? "everyone" : "the group";
  if (kinds[kind]) return named(kinds[kind], names, count);
  if (kind !== "combination") return plain(kind);
  // The conditions that exclude come last.
  const listed = [names[0]?.startsWith("not ") && "everyone", ...names.map((one) => one.replace(/^not /, "without "))].filter(Boolean);
  return listed.join(", ") + (count > names.length ? ` and ${count - names.length} more` : "");
}
