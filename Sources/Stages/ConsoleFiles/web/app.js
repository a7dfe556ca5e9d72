// The entry point of the console. It shows one page at a time.

import { onEnd } from "./api.js";
import { forget, may, otherSessions, resume, session, switchTo } from "./session.js";
import { Router } from "./router.js";
import { applyTheme, frame } from "./shell.js";
import { loginPage } from "./login.js";
import { coded, empty, head, notice } from "./parts.js";
import { what } from "./away.js";
import now from "./now.js";
import compose from "./compose.js";
import { groupPage, groupsPage } from "./groups.js";
import { sendPage, sendsPage } from "./sends.js";
import schedules from "./schedules.js";
import definitions from "./definitions.js";
import { installationPage, peoplePage, userPage } from "./people.js";
import events from "./events.js";
import letters from "./letters.js";
import fleet from "./fleet.js";
import audit from "./audit.js";
import { typePage, typesPage } from "./types.js";
import segments from "./segments.js";
import keys from "./keys.js";
import webhooks from "./webhooks.js";
import appPage from "./apppage.js";
import { serverNow } from "./clock.js";

const router = new Router();
router.add("/", now);
router.add("/compose", compose);
router.add("/groups", groupsPage);
router.add("/groups/{id}", groupPage);
router.add("/sends", sendsPage);
router.add("/sends/{id}", sendPage);
router.add("/schedules", schedules);
router.add("/definitions", definitions);
router.add("/people", peoplePage);
router.add("/people/user/{id}", userPage);
router.add("/people/installation/{id}", installationPage);
router.add("/events", events);
router.add("/dead-letters", letters);
router.add("/fleet", fleet);
router.add("/audit", audit);
router.add("/types", typesPage);
router.add("/types/{name}", typePage);
router.add("/segments", segments);
router.add("/keys", keys);
router.add("/webhooks", webhooks);
router.add("/app", appPage);

const root = document.body;
let shown = null;
let leave = () => {};
let endTimer = null;

const nowhere = { title: "Not found", show: (place) => place.append(
  empty("There is no such page", "The address is not a page of the console.")) };
const forbidden = { title: "Not for this key", show: (place) => place.append(
  empty("This key may not open this page", "Log in with a key of a higher role: send to send, admin to change keys, webhooks and settings.")) };

/** Leaves the page that is shown. A dialog belongs to its page. */
function leavePage() {
  leave();
  leave = () => {};
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

function open() {
  if (!shown) return;
  leavePage();
  const found = router.find(location.hash);
  let page = found?.page ?? nowhere;
  if (page.role && !may(page.role)) page = forbidden;
  shown.mark(found?.path ?? "");
  document.title = `${page.title} – Flotilla`;
  shown.place.replaceChildren();
  window.scrollTo(0, 0);
  try {
    leave = page.show(shown.place, found ?? {}) ?? (() => {});
  } catch (error) {
    leave = () => {};
    shown.place.replaceChildren(head(page.title), notice("bad", coded(what(error))));
    console.error(error);
  }
}

/** Uses the session of another app. Its pages have other ids, so the console begins at Now. */
function switched(app) {
  switchTo(app);
  history.replaceState(null, "", "#/");
  enter();
}

/** Opens the log-in page for the key of another app. The session stays. */
function added() {
  const { app } = session;
  leavePage();
  clearTimeout(endTimer);
  shown = null;
  const entered = () => { history.replaceState(null, "", "#/"); enter(); };
  loginPage(root, null, { entered, continued: (chosen) => (chosen === app ? enter() : switched(chosen)) }, app);
}

/** After a log-out the console goes on with the session of another app, if there is one. */
function left() {
  if (otherSessions.length) return switched(otherSessions[0].app);
  exit();
}

function enter() {
  shown = frame(root, { left, switched, added });
  clearTimeout(endTimer);
  // The timer also works while no page polls, so a reader who returns later sees why the session ended.
  endTimer = setTimeout(() => exit(ended), Math.min(2 ** 31 - 1, Math.max(0, session.endsAt - serverNow())));
  open();
}

const ended = "This session has ended. Log in again to return to this page.";

function exit(said) {
  clearTimeout(endTimer);
  leavePage();
  shown = null;
  forget();
  loginPage(root, said, { entered: enter, continued: switched });
}

window.addEventListener("hashchange", () => {
  open();
  // Screen readers then announce the new page instead of the menu.
  shown?.place.focus({ preventScroll: true });
});
// Timers do not run while a machine sleeps.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && shown && serverNow() >= session.endsAt) exit(ended);
});
onEnd((refusal) => {
  if (shown) exit(refusal.code === "session_ended" ? ended : `${what(refusal)} Log in with another key.`);
});

applyTheme();
try {
  if (await resume()) enter();
  else loginPage(root, null, { entered: enter, continued: switched });
} catch (error) {
  loginPage(root, error.code === "session_ended" ? ended : what(error), { entered: enter, continued: switched });
}
