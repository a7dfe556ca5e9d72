// Explanations of the server's codes, and their remedies.

/** The verdicts of a send: mark, word and sentence. */
export const verdicts = {
  accepted: ["live", "accepted", "It is stored but not planned yet."],
  scheduled: ["live", "scheduled", "It waits for its time."],
  planned: ["live", "on its way", "The lanes create its pushes."],
  held: ["warn", "held", "It waits until the clock has caught up with the sends before it."],
  superseded: ["", "superseded", "A newer send replaced it before it was sent."],
  conflict: ["bad", "conflict", "Its idempotency key was already used with another body. Only the first request counts."],
  newer_state: ["bad", "newer state", "Its group had a newer state than its sender had seen, so nothing was sent."],
  ended: ["", "too late", "Its group had already ended."],
  outdated: ["", "outdated", "Its phones already had something newer."],
  expired: ["warn", "expired", "Its deadline passed before it could be sent."],
  refused: ["bad", "refused", "It could not be planned; the findings have the reasons."],
  unknownApp: ["bad", "app unknown", "Its app has been deleted."],
  cancelled: ["", "cancelled", "It was cancelled."],
  stopping: ["warn", "stopping", "It was cancelled; the lanes stop the pushes that are not sent yet."],
  cancelRefused: ["bad", "not cancelled", "It goes on; the findings say why its cancel was refused."],
};

/** The reasons to exclude a phone from a send. */
export const exclusions = {
  started: ["started before", "This generation of the group already started them, and a phone is started only once."],
  ended: ["already ended", "The activity has already ended on these phones."],
  dismissed: ["dismissed", "The user dismissed the activity. Only a start with “restart” reaches them."],
  activities_off: ["switched off", "Live Activities are switched off in the phone's settings."],
  expired: ["token too old", "The token has expired because the app has not reported for too long. The next launch brings a new one."],
  other_environment: ["other environment", "The token belongs to a build for the other environment."],
  system_too_old: ["system too old", "Starting from a server needs iOS 17.2."],
  without_token: ["without token", "No phone has reported a token for this user."],
  moved_away: ["moved away", "The phone now belongs to another user and is reached as that user."],
  shadowed: ["same token", "Another installation reported the same token later and is reached instead."],
};

/** The reasons of APNs, with their remedies. */
export const reasons = {
  BadDeviceToken: "The token belongs to another environment or is damaged. Check that sandbox builds report `sandbox`.",
  Unregistered: "The app was removed from the phone, or the activity has ended there. The token is dropped; no action is needed.",
  ExpiredToken: "The token is too old. The phone gives a new one at the app's next launch.",
  DeviceTokenNotForTopic: "The token belongs to another app. Check the bundle id of the app.",
  TopicDisallowed: "The key is not allowed to push for this bundle id. Check the team and key of the app.",
  BadTopic: "The bundle id is wrong. `flotilla apps update` corrects it.",
  InvalidProviderToken: "Apple refuses the .p8 key. Run `flotilla doctor` for the reason; pushes continue when it is corrected.",
  ExpiredProviderToken: "The sender's clock is wrong. Set it by NTP.",
  TooManyRequests: "Too many pushes to one phone. They are retried with growing delays.",
  PayloadTooLarge: "The payload has more than 4,096 bytes. The dry run shows the size.",
  InternalServerError: "Apple's server failed. Flotilla retries these pushes.",
  ServiceUnavailable: "Apple's server is busy. Flotilla retries these pushes.",
  expired: "Their deadline passed before APNs accepted them.",
  unknown: "The connection to APNs broke before an answer came. They are not sent again.",
  Shutdown: "Apple closed the connection. Flotilla retries these pushes.",
};

/** The remedy for a dead letter by its reason, otherwise by the stage that wrote it. */
const letterReasons = {
  attempts_exhausted: "It used up its attempts. Send it again when the cause is removed.",
  unknown_app: "The app is unknown. Create it and send the letter again, or discard the letter.",
};
const letterStages = {
  ingest: "It is not a valid report (deploy/book/records.md). Correct the program that writes it, then discard the letter.",
  "fan-out": "It is not a send that can be planned. Correct the program that writes it, then discard the letter.",
  sender: "These pushes could not be delivered. Send them again when the cause is removed.",
};

export const letterRemedy = (stage, reason) =>
  letterReasons[reason] ?? letterStages[stage] ?? "See deploy/book/dead-letters.md.";

export const remedy = (reason) => reasons[reason] ?? "See deploy/book/apns.md.";

/** The words for event codes. */
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
  moved: ["live", "waits for a retry"],
  intent: ["live", "under way"],
  released: ["live", "released"],
};

/** The severity of each reason for a phone's display. */
export const whyKinds = {
  shows_newest: "good", started: "good", on_its_way: "live", ended: "", dismissed: "", nothing_sent: "",
  behind: "warn", superseded: "warn", waits_again: "warn", expired: "warn", unknown_outcome: "warn", silent: "warn",
  not_running: "warn", unknown_group: "warn", refused: "bad", no_token: "bad", switched_off: "bad", system: "bad",
  unregistered: "bad", other_environment: "bad", nothing_reported: "bad",
};

export const roles = {
  read: "may read", send: "may send and read", admin: "may do everything",
};

/** An unknown code in words. */
export const plain = (code) => String(code ?? "").replace(/([a-z])([A-Z])/g, "$1 $2").replace(/_/g, " ").toLowerCase();

export const excluded = (reason) => exclusions[reason] ?? [plain(reason), ""];
