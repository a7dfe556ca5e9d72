// The console: begins here, shows one page at a time.

import { onEnd } from "./api.js";
import { forget, may, resume, session } from "./session.js";
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

const root = document.body;
let shown = null;
let leave = () => {};
let endTimer = null;

const nowhere = { title: "Not found", show: (place) => place.append(
  empty("There is no such page", "The address names nothing of the console.")) };
const forbidden = { title: "Not for this key", show: (place) => place.append(
  empty("This key may look only", "Log in with a key of the role send to send something.")) };

function open() {
  if (!shown) return;
  leave();
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

function enter() {
  shown = frame(root, () => exit());
  clearTimeout(endTimer);
  // Also where nothing is asked meanwhile: who comes back in the morning reads why.
  endTimer = setTimeout(() => exit(ended), Math.min(2 ** 31 - 1, Math.max(0, session.endsAt - Date.now())));
  open();
}

const ended = "This session has ended. Log in again to go on where you were.";

function exit(said) {
  clearTimeout(endTimer);
  leave();
  leave = () => {};
  shown = null;
  forget();
  loginPage(root, said, enter);
}

window.addEventListener("hashchange", () => {
  open();
  // Whoever reads by ear hears the new page, not the menu again.
  shown?.place.focus({ preventScroll: true });
});
// A machine that slept has timers that did not run.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && shown && Date.now() >= session.endsAt) exit(ended);
});
onEnd((refusal) => {
  if (shown) exit(refusal.code === "session_ended" ? ended : `${what(refusal)} Log in with another.`);
});

applyTheme();
try {
  if (await resume()) enter();
  else loginPage(root, null, enter);
} catch (error) {
  loginPage(root, error.code === "session_ended" ? ended : what(error), enter);
}
