// What the server's words mean to a person, and what to do about them.

/** Of a send's verdict: the mark, the word, and a sentence. */
export const verdicts = {
  accepted: ["live", "accepted", "It is stored; nobody has planned it yet."],
  scheduled: ["live", "scheduled", "It waits for its time."],
  planned: ["live", "on its way", "The lanes make pushes of it."],
  held: ["warn", "held", "It waits until the send before it has settled."],
  superseded: ["", "superseded", "A newer send took its place before it went."],
  conflict: ["bad", "conflict", "The same idempotency key came with another body; that one counts."],
  ended: ["", "too late", "Its group had ended."],
  outdated: ["", "outdated", "Something newer had gone to its phones."],
  expired: ["warn", "expired", "Its deadline had passed before it could go."],
  refused: ["bad", "refused", "Nothing could be planned; the findings say why."],
  unknownApp: ["bad", "app unknown", "Its app has been deleted."],
  cancelled: ["", "cancelled", "It was taken back."],
  stopping: ["warn", "stopping", "It was taken back; the lanes stop what has not gone."],
};

/** Whom a send left out. */
export const exclusions = {
  started: ["started before", "This life of the group had started them, and nobody is started twice."],
  ended: ["ended for them", "Their part in the group has ended."],
  dismissed: ["dismissed", "The owner put the activity away. Only a start “also where it was dismissed” reaches them."],
  activities_off: ["switched off", "Live Activities are switched off in the phone's settings."],
  expired: ["token too old", "The app has not been heard of for longer than its tokens count. A new one comes with its next launch."],
  other_environment: ["other environment", "The token is of a build for the other environment."],
  system_too_old: ["system too old", "Starting from a server needs iOS 17.2."],
  without_token: ["without token", "The send names a user whom no phone has reported a token for."],
  moved_away: ["moved away", "The phone belongs to somebody else now, who is reached as that person."],
  shadowed: ["told by another", "Another installation has the same token since later, and is reached in its place."],
};

/** Why APNs said no. */
export const reasons = {
  BadDeviceToken: "The token is of another environment, or damaged. Check that sandbox builds report `sandbox`.",
  Unregistered: "The app is gone from the phone, or the activity has ended there. The token is forgotten; nothing to do.",
  ExpiredToken: "The token is too old. The phone gives a new one at the app's next launch.",
  DeviceTokenNotForTopic: "The token is of another app. Check the bundle id of the app.",
  TopicDisallowed: "The key may not push for this bundle id. Check the team and key of the app.",
  BadTopic: "The bundle id is wrong. `flotilla apps update` corrects it.",
  InvalidProviderToken: "Apple does not take the .p8 key. `flotilla doctor` says what is wrong; pushes go on when it is right.",
  ExpiredProviderToken: "The sender's clock is wrong. Set it by NTP.",
  TooManyRequests: "Too many pushes to one phone. They go again, later and later.",
  PayloadTooLarge: "More than 4,096 bytes. The dry run shows the size.",
  InternalServerError: "Apple's side failed. They go again by themselves.",
  ServiceUnavailable: "Apple's side is busy. They go again by themselves.",
  Shutdown: "Apple closed the connection. They go again by themselves.",
};

/** What to do about a dead letter, by its reason and else by the stage that gave up. */
const letterReasons = {
  attempts_exhausted: "It was tried as often as allowed. Send it again when the cause is gone.",
  unknown_app: "The app is unknown there. Create it, then send it again; or discard it.",
};
const letterStages = {
  ingest: "It is no report as the book has it (deploy/book/records.md). Correct who writes it; then discard it.",
  "fan-out": "It is no send that can be planned. Correct who writes it; then discard it.",
  sender: "These pushes found no way. Send them again when the cause is gone.",
};

export const letterRemedy = (stage, reason) =>
  letterReasons[reason] ?? letterStages[stage] ?? "Look the word up in the book: deploy/book/dead-letters.md.";

export const remedy = (reason) => reasons[reason] ?? "Look the word up in the book: deploy/book/apns.md.";

/** Of an event's code. */
export const events = {
  "n:lst": "start token reported",
  "n:lut": "update token reported",
  "n:lac": "activity closed",
  profile: "profile changed",
  tap: "opened by a tap",
};

export const outcomes = {
  accepted: ["good", "accepted"],
  rejected: ["bad", "rejected"],
  superseded: ["", "superseded"],
  expired: ["warn", "expired"],
  unknown: ["warn", "unknown"],
  moved: ["live", "goes again later"],
  intent: ["live", "under way"],
  released: ["live", "released"],
};

/** How bad a "why" is. */
export const whyKinds = {
  shows_newest: "good", started: "good", on_its_way: "live", ended: "", dismissed: "", nothing_sent: "",
  behind: "warn", superseded: "warn", waits_again: "warn", expired: "warn", unknown_outcome: "warn", silent: "warn",
  not_running: "warn", unknown_group: "warn", refused: "bad", no_token: "bad", switched_off: "bad", system: "bad",
  unregistered: "bad", other_environment: "bad", nothing_reported: "bad",
};

export const roles = {
  read: "may look", send: "may send and look", admin: "may do everything",
};

/** Of a code that this console does not know yet: as it is, with spaces. */
export const plain = (code) => String(code ?? "").replace(/([a-z])([A-Z])/g, "$1 $2").replace(/_/g, " ").toLowerCase();

export const excluded = (reason) => exclusions[reason] ?? [plain(reason), ""];
