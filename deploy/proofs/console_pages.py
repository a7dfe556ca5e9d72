"""Uses the pages of the console for sends, people and set-up in headless Chromium, with keys of two apps, and checks the rules of WCAG 2.2 AA."""
import csv
import io
import os
import sys
import time
import urllib.error
import urllib.request

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import console_browser
from console_browser import Browser, api, check, failures
from console_phones import NOT_ALLOWED, TYPE, answering, report, until, until_outcome
from console_proxy import Proxy

console_browser.LIMIT = 20
# A type and a webhook that do not exist yet.
console_browser.REFUSED += ("status of 404",)
RUN = time.strftime("%H%M%S")
GROUP, BROKEN, SEGMENT = f"semi-final-{RUN}", f"broken-{RUN}", f"fans-{RUN}"
BROKEN_PHONES = 120
# Phones that get a start and whose people do not allow it.
WAITING, WAITING_PHONES = f"waiting-{RUN}", 40
ADDRESS = os.environ["GATEWAY"].removeprefix("http://").split(":")
PROXY = Proxy(ADDRESS[0], int(ADDRESS[1]), os.environ.get("CONSOLE_FILES"))
console_browser.CONSOLE = PROXY.address
with open(os.environ["AXE"]) as source:
    AXE = source.read()


def send(event, group=GROUP, home=0, **fields):
    body = {"event": event, "groupId": group, "contentState": {"home": home, "away": 0}, **fields}
    if event == "start":
        body = {"audience": "everyone", **body, "attributesType": TYPE, "attributes": {"home": "Larks", "away": "Terns"}, "alert": {"title": "Kick-off"}}
    return api("POST", "/v1/sends", body)


def rows(browser):
    return browser.run("return [...document.querySelectorAll('main tbody tr')].map((one) => one.innerText.replace(/\\s+/g, ' ').trim())")


def press(browser, text, inside="main"):
    # A page that polls may build the button again in the same moment.
    for _ in range(5):
        try:
            return browser.click(browser.find(inside).find_element(By.XPATH, f".//button[contains(normalize-space(.), '{text}')]"))
        except WebDriverException:
            time.sleep(0.2)
    raise TimeoutError(f"the button {text}")


def step_1_sends(browser):
    browser.open(f"sends?group={GROUP}")
    browser.wait("1: the list has event, content and audience", lambda: any("update 2:0" in row and "the group" in row for row in rows(browser)))
    row = next(row for row in rows(browser) if "update 2:0" in row)
    check(os.environ["ADMIN"].split("_")[2] in row, f"1: a send names its author: {row}")
    sent = api("GET", f"/v1/sends?group={GROUP}&event=update")["items"]
    check([one["event"] for one in sent] == ["update"] and sent[0]["requestId"][:12] in row, "1: the request id stands on the send")
    browser.open("sends")
    browser.find("tbody tr")
    browser.find("input[name=text]").send_keys(BROKEN.upper(), Keys.ENTER)
    browser.wait("1: the search finds a group in any case of letters", lambda: len(rows(browser)) == 1 and BROKEN in rows(browser)[0])
    browser.picture("pages-1-sends")
    browser.open(f"sends?text={GROUP}&event=start")
    browser.wait("1: filters combine", lambda: len(rows(browser)) == 1 and "start 0:0" in rows(browser)[0] and "everyone" in rows(browser)[0])
    browser.open(f"sends?result=failed&group={GROUP}")
    browser.wait("1: a filter that nothing matches says so", lambda: "No send that was read matches the filter" in browser.text())
    browser.open("audit?of=sends&range=1d")
    browser.wait("1: the audit of sends names the request", lambda: any("send.update" in row and sent[0]["requestId"] in row for row in rows(browser)))


def step_2_failed_phones(browser):
    sent = api("GET", f"/v1/sends?group={BROKEN}")["items"][0]
    browser.open(f"sends/{sent['sendId']}?at={sent['acceptedAt']}")
    browser.wait("2: a send that APNs rejected has failed", lambda: "failed" in browser.find("h1").text)
    browser.wait("2: its reasons have a remedy", lambda: "Unregistered" in browser.text() and "The app was removed from the phone" in browser.text())
    press(browser, "List them")
    browser.wait("2: the failed phones are listed", lambda: sum("Unregistered" in row and BROKEN in row for row in rows(browser)) == 100)
    press(browser, "Show more")
    browser.wait("2: the list goes on", lambda: sum("Unregistered" in row and BROKEN in row for row in rows(browser)) == BROKEN_PHONES)
    browser.picture("pages-2-failed")
    request = urllib.request.Request(f"{console_browser.GATEWAY}/v1/sends/{sent['sendId']}/failures?format=csv&limit=5000&reason=Unregistered",
                                     headers={"Authorization": "Bearer " + os.environ["ADMIN"]})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found = list(csv.DictReader(io.StringIO(answer.read().decode())))
        name = answer.headers["Content-Disposition"]
    users = {row["userId"] for row in found}
    check(len(found) == BROKEN_PHONES and len(users) == BROKEN_PHONES and 'filename="failures.csv"' in name, f"2: the file has each phone once: {len(found)}")
    # The download of the page takes the same path.
    press(browser, "Download CSV")
    time.sleep(1)
    check(not browser.errors(), "2: the download has no error")


def step_2_waiting_for_allow(browser):
    browser.open(f"sends?group={WAITING}")
    browser.wait("2: a start that no phone reports waits for Allow", lambda: len(rows(browser)) == 1 and "waiting for Allow" in rows(browser)[0])
    browser.open(f"groups/{WAITING}")
    browser.wait("2: its group counts no phone", lambda: f"APNs accepted the newest state for {WAITING_PHONES} phones, and no phone reports a running activity" in browser.text())
    started = api("GET", f"/v1/sends?group={GROUP}&event=start")["items"][0]
    check(started["report"].get("waitingForAllow") == 0, f"2: no phone of the other group waits: {started['report'].get('waitingForAllow')}")


def phone_of(group):
    found = None

    def look():
        nonlocal found
        found = next((one for one in api("GET", f"/v1/events?group={group}&code=n:lut&limit=1")["items"]), None)
        return found is not None
    until("a phone reports its activity", look)
    return found["installationId"]


def step_3_lock_screen(browser):
    phone = phone_of(GROUP)
    browser.open(f"people/installation/{phone}")
    card = lambda: browser.find_text("figure", GROUP)  # noqa: E731
    browser.wait("3: a phone's page draws the lock screen of each activity as it should look now", lambda: "2:0" in " ".join(card().text.split()))
    browser.wait("3: each has its reason", lambda: len(card().find_element(By.CSS_SELECTOR, ".reason").text) > 10)
    activity = next(one for one in api("GET", f"/v1/installations/{phone}")["activities"] if one["groupId"] == GROUP)
    check(activity["newest"]["contentState"] == {"home": 2, "away": 0} and activity["newest"]["version"] == activity["version"], "3: insight answers the newest state of an activity")
    browser.picture("pages-3-lock-screen")


def step_4_types(browser):
    name = f"Order{RUN}"
    browser.open(f"types/{name}")
    browser.field("example").send_keys('{"status":"on its way","stops":3,"eta":"2026-11-20T20:00:00Z","items":[{"name":"tea","count":2}]}')
    press(browser, "Make the schemas")
    browser.wait("4: an example makes a schema", lambda: '"count": "int"' in browser.field("contentStateSchema").get_attribute("value"))
    browser.field("layout").send_keys('{"lines":["status"],"steps":[{"label":"stop passed","field":"stops","add":-1}]}')
    browser.wait("4: the preview shows the example in the layout", lambda: "on its way" in browser.find(".phone").text and "stops" not in browser.find(".phone").text)
    browser.field("updateTokenTtl").send_keys("2 weeks")
    press(browser, "Save")
    browser.wait("4: a wrong value is marked at its field", lambda: browser.field("updateTokenTtl").get_attribute("aria-invalid") == "true")
    browser.field("updateTokenTtl").clear()
    browser.field("updateTokenTtl").send_keys("8h")
    press(browser, "Save")
    browser.wait("4: the type is in the list", lambda: any(row.startswith(name) and "8h" in row for row in rows(browser)))
    stored = api("GET", f"/v1/activity-types/{name}")
    check(stored["contentStateSchema"]["items"] == [{"name": "string", "count": "int"}] and stored["layout"]["lines"] == ["status"], "4: the type is stored with schema and layout")
    browser.picture("pages-4-types")


def step_5_segments(browser):
    before = len(api("GET", "/v1/sends?limit=500")["items"])
    audited = lambda: [one["action"] for one in api("GET", "/v1/audit?of=sends&limit=500")["items"]]  # noqa: E731
    audits = len(audited())
    browser.open("segments")
    browser.wait("5: the form is there", lambda: browser.field("name").is_displayed())
    browser.field("name").send_keys(SEGMENT)
    browser.field("rule").send_keys('{"tag":')
    press(browser, "Save")
    browser.wait("5: a rule that is no JSON is marked", lambda: browser.field("rule").get_attribute("aria-invalid") == "true")
    browser.field("rule").clear()
    browser.field("rule").send_keys('{"field":"os","atLeast":"26"}')
    press(browser, "Save")
    card = lambda: browser.find_text("section", SEGMENT)  # noqa: E731
    browser.wait("5: the segment is listed with its rule", lambda: '"atLeast": "26"' in card().text)
    browser.click(card().find_element(By.XPATH, ".//button[contains(., 'Count its phones')]"))
    browser.wait("5: its phones are counted", lambda: "can get a start now" in card().text)
    number = int(card().find_element(By.TAG_NAME, "strong").text.split()[0].replace(",", ""))
    # Phones of iOS 26 are 385 of 944 in a demonstration.
    check(0 < number < 944, f"5: the segment has {number} phones")
    time.sleep(3)
    check(len(api("GET", "/v1/sends?limit=500")["items"]) == before and len(audited()) == audits, "5: a count leaves no send and no audit entry")
    browser.picture("pages-5-segments")


def dialog_yes(browser):
    browser.click(browser.find("dialog button[value=yes]:not(:disabled)"))


def status_with(key, path="/v1/app"):
    """Returns the status of a call with this key."""
    request = urllib.request.Request(console_browser.GATEWAY + path, headers={"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def step_6_keys(browser):
    name = f"night-shift-{RUN}"
    row = lambda: next((one for one in rows(browser) if name in one), "")  # noqa: E731
    act = lambda word: browser.click(browser.find(f"button[aria-label='{word} {name}']"))  # noqa: E731
    browser.open("keys")
    browser.wait("6: the keys are listed, and the reader's own is marked", lambda: any(os.environ["ADMIN"].split("_")[2] in one and "your own" in one for one in rows(browser)))
    browser.field("name").send_keys(name)
    browser.run("const list = document.querySelector('[data-path=expiresAt]'); list.value = '30'")
    press(browser, "Create")
    browser.wait("6: the text of a new key is shown once", lambda: browser.find(".secret").text.startswith("flotilla_send_"))
    key = browser.find(".secret").text
    browser.wait("6: the new key is listed with its role, its state and its end", lambda: "send valid" in row() and row().count(":") >= 2)
    until("the new key is accepted", lambda: status_with(key) == 200)
    check(status_with(key, "/v1/keys") == 403, "6: the new key has its role and no other")
    browser.picture("pages-6-keys")
    act("Revoke")
    browser.wait("6: a revocation asks first", lambda: "refused within a second" in browser.find("dialog").text)
    dialog_yes(browser)
    browser.wait("6: the key is revoked", lambda: "revoked" in row())
    until("the revoked key is refused", lambda: status_with(key) == 401)
    act("Delete")
    dialog_yes(browser)
    browser.wait("6: an invalid key can be deleted", lambda: not row())


def step_6_webhooks(browser):
    name = f"backend-{RUN}"
    browser.open("webhooks")
    browser.wait("6: the form is there", lambda: browser.field("name").is_displayed())
    browser.field("name").send_keys(name)
    browser.field("url").send_keys("https://example.com/flotilla")
    press(browser, "Save")
    browser.wait("6: the secret of a new webhook is shown once", lambda: browser.find(".secret").text.startswith("whsec_"))
    browser.wait("6: the webhook is listed", lambda: any(name in row and "all" in row for row in rows(browser)))
    lagging = lambda: any(name in one["stage"] for one in api("GET", "/v1/fleet")["lag"])  # noqa: E731
    until("the webhook is in the fleet", lagging)
    press(browser, "Delete")
    dialog_yes(browser)
    browser.wait("6: a webhook can be deleted", lambda: name not in " ".join(rows(browser)))
    until("the fleet forgets it", lambda: not lagging())
    check(True, "6: a deleted webhook is not listed as a consumer that is behind")


def step_6_app(_):
    browser = Browser()
    browser.log_in("OTHER")
    browser.open("app")
    browser.wait("6: the settings of the app are shown", lambda: "com.example.other" in browser.text())
    press(browser, "Save")
    browser.wait("6: a form without a change saves nothing", lambda: "Nothing has changed" in browser.text())
    browser.field("teamId").clear()
    press(browser, "Save")
    browser.wait("6: a missing team is marked", lambda: browser.field("teamId").get_attribute("aria-invalid") == "true")
    browser.field("teamId").send_keys("no team")
    press(browser, "Save")
    dialog_yes(browser)
    browser.wait("6: the server's problem stands at its field", lambda: browser.field("teamId").get_attribute("aria-invalid") == "true" and "problem" in browser.text())
    browser.field("teamId").clear()
    browser.field("teamId").send_keys("KLMNOPQRST")
    browser.click(browser.find("input[value=sandbox]"))
    press(browser, "Save")
    browser.wait("6: the change is shown before it is made", lambda: "ABCDEFGHIJ → KLMNOPQRST" in browser.find("dialog").text and "production → production,sandbox" in browser.find("dialog").text)
    browser.picture("pages-6-app")
    dialog_yes(browser)
    browser.wait("6: the settings are changed", lambda: "The settings are changed" in browser.text() and "KLMNOPQRST" in browser.find(".facts").text)
    stored = api("GET", "/v1/app", key="OTHER")
    check((stored["teamId"], stored["bundleId"], stored["environments"]) == ("KLMNOPQRST", "com.example.other", ["production", "sandbox"]), f"6: the server has them: {stored}")
    # Another run begins with the same settings.
    api("PUT", "/v1/app", {**stored, "teamId": "ABCDEFGHIJ", "environments": ["production"]}, key="OTHER")
    check(not browser.errors(), f"6: no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()


def step_7_roles(_):
    browser = Browser()
    browser.log_in("READ")
    menu = browser.run("return document.querySelector('nav.menu').innerText")
    check("Keys" not in menu and "Webhooks" not in menu and "Segments" in menu, "7: a key that may read sees no keys and no webhooks")
    for page in ["keys", "webhooks"]:
        browser.open(page)
        browser.wait(f"7: the page {page} is refused to it", lambda: "This key may not open this page" in browser.text())
    for page in ["types", f"types/{TYPE}", "segments"]:
        browser.open(page)
        time.sleep(1)
        offered = browser.run("return [...document.querySelectorAll('main button')].map((one) => one.textContent)")
        check(not [text for text in offered if text.startswith(("Save", "Delete", "New", "Count"))], f"7: {page} offers it no change: {offered}")
    browser.close()


def step_7_definition(browser):
    """A start that was saved is composed for one user. It gets the dialog of each send."""
    group = f"defined-{RUN}"
    browser.open(f"compose?event=start&type={TYPE}&at={time.time_ns()}")
    browser.wait("7: the form has the fields of the type", lambda: browser.field("attributes.home").is_displayed())
    for path, value in [("contentState.home", 1), ("contentState.away", 2), ("attributes.home", "Larks"), ("attributes.away", "Terns"), ("alert.title", "Your order")]:
        browser.field(path).send_keys(str(value))
    press(browser, "Save as definition")
    browser.wait("7: a start is saved as a definition", lambda: "Saved as" in browser.text())
    key = api("GET", "/v1/definitions")["items"][0]["notificationKey"]
    user = api("GET", f"/v1/installations/{phone_of(GROUP)}")["userId"]
    browser.open(f"definitions?key={key}")
    browser.field("target.extId").send_keys(user)
    browser.field("message.groupId").send_keys(group)
    press(browser, "Compose for this user")
    browser.wait("7: a definition fills the form in", lambda: browser.field("contentState.away").get_attribute("value") == "2" and browser.field("attributes.home").get_attribute("value") == "Larks"
                 and browser.field("alert.title").get_attribute("value") == "Your order" and browser.field("audience.users").get_attribute("value") == user)
    press(browser, "Send …")
    browser.wait("7: the dialog counts one phone", lambda: f"Start with 1:2, {group}, user {user}: 1 phone, now" in browser.find("dialog h2").text)
    dialog_yes(browser)
    until("the start", lambda: api("GET", f"/v1/groups/{group}")["running"] == 1)
    browser.wait("7: the page of the send is open", lambda: "/sends/" in browser.driver.current_url)
    api("POST", "/v1/sends", {"event": "end", "groupId": group, "dismissalDate": {"offset": 0}})
    api("DELETE", f"/v1/definitions/{key}")


def step_8_several_apps(_):
    browser = Browser()
    browser.log_in("ADMIN")
    app = lambda: browser.run("return document.querySelector('.who strong').textContent")  # noqa: E731
    check(app() == "demo", f"8: the first app is {app()}")
    browser.open(f"groups/{GROUP}")
    browser.wait("8: its group is there", lambda: GROUP in browser.find("h1").text)
    press(browser, "Another app", ".who")
    browser.find("input[name=key]").send_keys(os.environ["OTHER"], Keys.ENTER)
    browser.wait("8: a key of another app opens its pages", lambda: app() == "other")
    browser.wait("8: they begin at Now, without the groups of the first app", lambda: browser.driver.current_url.endswith("#/") and "No group is live" in browser.text())
    choose = lambda name: browser.run("const list = document.querySelector('.who select'); list.value = arguments[0]; list.dispatchEvent(new Event('change'))", name)  # noqa: E731
    choose("demo")
    browser.wait("8: a reader switches to the first app", lambda: app() == "demo" and GROUP in browser.text())
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    browser.open("")
    browser.find("nav.menu")
    choose("other")
    browser.wait("8: another tab uses the other app", lambda: app() == "other")
    browser.driver.refresh()
    browser.find("nav.menu")
    check(app() == "other", "8: a tab keeps its app when it is loaded again")
    browser.driver.switch_to.window(first)
    time.sleep(2)
    check(app() == "demo" and GROUP in browser.text(), "8: the first tab keeps its own app")
    browser.click(browser.find_text("article", GROUP).find_element(By.XPATH, ".//button[normalize-space(.)='away +1']"))
    ready = "return document.querySelector('dialog button[value=yes]')?.disabled === false"
    browser.wait("8: its dialog is ready", lambda: browser.run(ready) and f"2:0 → 2:1, {GROUP}" in browser.find("dialog").text)
    second = next(one for one in browser.driver.window_handles if one != first)
    browser.driver.switch_to.window(second)
    choose("demo")
    browser.wait("8: the other tab switches its app while the dialog is open", lambda: app() == "demo")
    choose("other")
    browser.wait("8: and back", lambda: app() == "other")
    browser.driver.switch_to.window(first)
    dialog_yes(browser)
    until("the goal of the first tab", lambda: api("GET", f"/v1/groups/{GROUP}")["newest"]["contentState"] == {"home": 2, "away": 1})
    sent = api("GET", "/v1/sends", key="OTHER")["items"]
    check(not [one for one in sent if one.get("groupId") == GROUP], "8: the first tab sends for its own app")
    browser.picture("pages-8-apps")
    cookies = {one["name"]: one for one in browser.driver.get_cookies()}
    check(set(cookies) == {"flotilla_session.demo", "flotilla_session.other"} and all(one["httpOnly"] and one["sameSite"] == "Strict" for one in cookies.values()), "8: each app has its own cookie")
    press(browser, "Log out", ".who")
    browser.wait("8: after a log-out the console goes on with the other app", lambda: app() == "other")
    check([one["name"] for one in browser.driver.get_cookies()] == ["flotilla_session.other"], "8: a log-out ends one session only")
    press(browser, "Log out", ".who")
    browser.find("input[name=key]")
    check(not browser.driver.get_cookies(), "8: the last log-out leaves no cookie")
    check(not browser.errors(), f"8: no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()


PAGES = ["", f"compose?event=update&group={GROUP}", "groups", f"groups/{GROUP}", "sends", "schedules", "definitions", "people", "events", "dead-letters", "fleet", "audit",
         "types", f"types/{TYPE}", "segments", "keys", "webhooks", "app"]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def findings(browser, place):
    """Runs the rules that a program can check. Returns the rules that the page breaks."""
    browser.driver.execute_script(AXE)
    found = browser.driver.execute_async_script("""const done = arguments[arguments.length - 1];
        axe.run(document, {runOnly: arguments[0], resultTypes: ['violations']}).then((result) => done(result.violations.map(({id, nodes}) =>
          `${id}: ${nodes.slice(0, 3).map(({target, any, all, none}) => target.join(' ') + ' (' + ([...any, ...all, ...none][0]?.message ?? '').slice(0, 120) + ')').join('; ')}`)), (error) => done([String(error)]))""", RULES)
    check(not found, f"9: {place} breaks no rule {found or ''}")


def step_9_wcag(_):
    sent = api("GET", f"/v1/sends?group={BROKEN}")["items"][0]
    pages = [*PAGES, f"sends/{sent['sendId']}?at={sent['acceptedAt']}", f"people/installation/{phone_of(GROUP)}"]
    for word, width, height, dark, zoom in [("desktop", 1280, 900, False, 1), ("dark", 1280, 900, True, 1), ("360 px", 360, 740, False, 1), ("a zoom of 200 %", 1280, 900, False, 2)]:
        browser = Browser(width, height, dark)
        if zoom == 2:
            browser.command("Emulation.setDeviceMetricsOverride", width=width // 2, height=height // 2, deviceScaleFactor=2, mobile=False)
        browser.open("")
        browser.find("input[name=key]")
        findings(browser, f"{word}: the log-in")
        browser.log_in("ADMIN")
        for page in pages:
            browser.open(page)
            browser.wait(f"9: {word}: {page.split('?')[0] or 'now'} is shown", lambda: "Looking …" not in browser.text())
            time.sleep(0.7)
            findings(browser, f"{word}: {page.split('?')[0] or 'now'}")
            wide = browser.run("return document.documentElement.scrollWidth > innerWidth")
            check(not wide, f"9: {word}: {page.split('?')[0] or 'now'} is not wider than the screen")
        browser.open(f"compose?event=update&group={GROUP}&type={TYPE}&at={time.time_ns()}")
        browser.wait(f"9: {word}: a form is filled in", lambda: browser.field("contentState.home").get_attribute("value") != "")
        browser.click(browser.find("button[value=send]"))
        browser.wait(f"9: {word}: the dialog is ready", lambda: browser.run("return document.querySelector('dialog button[value=yes]')?.disabled === false"))
        findings(browser, f"{word}: the dialog of a send")
        check(not browser.errors(), f"9: {word}: no error in the browser's console {browser.errors()[:3] or ''}")
        browser.close()


# The controls that a reader must reach. Of a group of radio buttons Tab reaches one.
CONTROLS = """return [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter((one) =>
    !one.disabled && one.checkVisibility({visibilityProperty: true}) && !one.closest('details:not([open]) > :not(summary)') && !(one.type === 'radio' && !one.checked)).length"""


def step_10_keyboard(browser):
    keys = lambda *pressed: webdriver.ActionChains(browser.driver).send_keys(*pressed).perform()  # noqa: E731
    for page in ["", "compose", "sends", "people", "events", "types", f"types/{TYPE}", "segments", "keys", "webhooks", "app"]:
        browser.open(page)
        browser.wait(f"10: {page or 'now'} is shown", lambda: "Looking …" not in browser.text())
        time.sleep(1)
        browser.run("window.reached = new Set(); window.faint = []; document.body.focus(); document.activeElement.blur()")
        wanted = browser.run(CONTROLS)
        for _ in range(wanted + 30):
            keys(Keys.TAB)
            browser.run("""const one = document.activeElement;
                if (one === document.body) return;
                window.reached.add(one);
                const shown = one.type === 'radio' ? one.closest('label') : one;
                if (getComputedStyle(shown).outlineStyle === 'none' && !one.matches('.skip')) window.faint.push(one.outerHTML.slice(0, 80));""")
        reached, faint = browser.run("return [window.reached.size, [...new Set(window.faint)].slice(0, 3)]")
        check(reached >= wanted - 1, f"10: on {page or 'now'} Tab reaches all controls: {reached} of {wanted}")
        check(not faint, f"10: on {page or 'now'} the focus is visible {faint or ''}")


def step_11_weight(_):
    if PROXY.folder:
        return
    fresh = Browser()
    before = PROXY.bytes
    fresh.log_in("ADMIN")
    fresh.wait("11: Now is shown", lambda: GROUP in fresh.text())
    check(PROXY.bytes - before <= 150_000, f"11: the first load with its data costs {PROXY.bytes - before:,} bytes")
    for page in ["", "sends", f"groups/{GROUP}"]:
        fresh.open(page)
        time.sleep(4)
        before, began = PROXY.bytes, time.time()
        time.sleep(10)
        rate = (PROXY.bytes - before) / (time.time() - began)
        check(rate <= 5000, f"11: {page.split('/')[0] or 'now'} costs {rate:.0f} bytes a second")
    fresh.close()


def step_12_audience(browser):
    """Several conditions and exclusions, in the form, the dialog, the draft and the list."""
    fans, group = f"fans-12-{RUN}", f"friendly-{RUN}"
    api("PUT", f"/v1/segments/{fans}", {"rule": {"field": "os", "atLeast": "26"}})

    def expected(audience):
        """Returns what a trial of the same audience counts, over the API."""
        sent = send("start", group, audience=audience, dryRun=True)
        progress = lambda: api("GET", f"/v1/sends/{sent['sendId']}?at={sent['acceptedAt']}")  # noqa: E731
        until("a trial", lambda: progress()["isComplete"])
        return progress()["expanded"]

    browser.open(f"compose?event=start&type={TYPE}&at={time.time_ns()}")
    browser.wait("12: the form has the fields of the type", lambda: browser.field("attributes.home").is_displayed())
    for path, value in [("groupId", group), ("contentState.home", 0), ("contentState.away", 0), ("attributes.home", "Larks"), ("attributes.away", "Terns"), ("alert.title", "Kick-off")]:
        browser.field(path).send_keys(str(value))
    browser.click(browser.find("input[name=audience][value=conditions]"))
    press(browser, "Send …")
    browser.wait("12: an audience without a condition is refused, because it would be everyone", lambda: "choose Everyone for all phones" in browser.text())
    title = lambda: browser.run("return document.querySelector('dialog h2')?.innerText ?? ''")  # noqa: E731

    def confirm(audience, words):
        number = expected(audience)
        press(browser, "Send …")
        browser.wait(f"12: the dialog counts {number} phones for {words}", lambda: f"{words}: {number:,} phones, now" in title())
        return number

    browser.click(browser.find_text("label", fans))
    browser.field("audience.tags").send_keys("home-fan")
    both = confirm({"segments": [fans], "tags": ["home-fan"]}, f"segment {fans} and tag home-fan")
    check(0 < both < expected({"tags": ["home-fan"]}), f"12: both conditions hold together: {both}")
    webdriver.ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    browser.run("document.querySelector('[data-path=\"audience.exclude.tags\"]').closest('details').open = true")
    browser.field("audience.exclude.tags").send_keys("home-fan, away-fan")
    check(confirm({"segments": [fans], "tags": ["home-fan"], "exclude": {"tags": ["home-fan", "away-fan"]}},
                  f"segment {fans} and tag home-fan, without 2 tags (home-fan, away-fan)") == 0, "12: an exclusion wins over a condition")
    webdriver.ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    browser.click(browser.find("input[name=audience][value=everyone]"))
    browser.run("document.querySelector('[data-path=\"audience.exclude.tags\"]').closest('details').open = true")
    browser.field("audience.exclude.tags").send_keys("home-fan")
    browser.driver.refresh()
    browser.wait("12: the draft keeps the exclusion and shows it", lambda: browser.field("audience.exclude.tags").get_attribute("value") == "home-fan" and browser.field("audience.exclude.tags").is_displayed())
    browser.picture("pages-12-audience")
    number = confirm({"everyone": True, "exclude": {"tags": ["home-fan"]}}, "everyone, without tag home-fan")
    browser.wait("12: the send can be confirmed", lambda: browser.find("dialog button[value=yes]").is_enabled())
    dialog_yes(browser)
    browser.wait("12: the page of the send names its audience", lambda: "everyone, without tag home-fan" in browser.text())
    # The phones that only report tokens show nothing.
    until("the start", lambda: api("GET", f"/v1/groups/{group}")["running"] >= number - WAITING_PHONES > 0)
    browser.open(f"sends?group={group}")
    browser.wait("12: the list names the audience", lambda: any("to everyone, without tag home-fan" in row for row in rows(browser)))
    api("POST", "/v1/sends", {"event": "end", "groupId": group, "dismissalDate": {"offset": 0}})


def start_with(answer, name, count, outcome):
    """Starts a group on reported phones while APNs gives one answer to each start."""
    users = report(name, count)
    with answering({"match": {"events": ["start"]}, "answer": answer}):
        until_outcome(send("start", name, audience={"users": users}), **{outcome: count})


def prepare():
    """Starts a group on phones that APNs no longer knows, one on phones that do not report it, and one on all the others."""
    start_with({"reason": "Unregistered"}, BROKEN, BROKEN_PHONES, "rejected")
    running = lambda: api("GET", f"/v1/groups/{GROUP}")  # noqa: E731
    send("start")
    until("the start", lambda: running()["running"] >= 900)
    send("update", home=2)
    until("the update", lambda: running()["onNewest"] >= 900)
    # The last, because these phones would get the other starts too.
    start_with(NOT_ALLOWED, WAITING, WAITING_PHONES, "accepted")


def main():
    began = time.time()
    prepare()
    browser = Browser()
    browser.log_in("ADMIN")
    for name, step in sorted(((name, step) for name, step in globals().items() if name.startswith("step_")), key=lambda one: int(one[0].split("_")[1])):
        # Further arguments select steps by a part of their names.
        if len(sys.argv) > 2 and not any(part in name for part in sys.argv[2:]):
            continue
        print(f"     {name.replace('_', ' ')}", flush=True)
        try:
            step(browser)
        except Exception as error:  # noqa: BLE001 the other steps still run
            check(False, f"{name}: {error!r}"[:500])
            browser.picture(f"failed-{name}")
    check(not browser.errors(), f"no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()
    for name in [GROUP, BROKEN, WAITING]:
        api("POST", "/v1/sends", {"event": "end", "groupId": name, "dismissalDate": {"offset": 0}})
    print(f"flotilla: {len(failures)} failed, after {time.time() - began:.0f} s")
    raise SystemExit(1 if failures else 0)


main()
