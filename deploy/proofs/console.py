"""Uses the console in headless Chromium as a person does, and attacks it as an attacker would."""
import http.server
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from console_browser import GATEWAY, LIMIT, Browser, api, check, failures

PAGES = ["", "compose", "groups", "sends", "schedules", "definitions", "people", "events", "dead-letters", "fleet", "audit", "types", "segments", "keys", "webhooks", "app"]
GROUP = "derby-<b>7</b>"


def settle(browser):
    """Waits until the page has shown the answers to its requests."""
    time.sleep(0.3)
    WebDriverWait(browser.driver, LIMIT).until(lambda _: "Looking …" not in browser.text() and "Reading the" not in browser.text())


def pictures(browser, word):
    for page in PAGES:
        browser.open(page)
        settle(browser)
        time.sleep(1)
        browser.picture(f"{word}-{page or 'now'}")
        wide = browser.run("return document.documentElement.scrollWidth > innerWidth")
        check(not wide, f"{word}: {page or 'now'} is not wider than the screen")
        nameless = browser.run("""return [...document.querySelectorAll('button, a[href], input, select, textarea')].filter((one) =>
            !(one.innerText?.trim() || one.labels?.length || one.getAttribute('aria-label') || one.querySelector('img[alt]')))
            .map((one) => one.outerHTML.slice(0, 80))""")
        check(not nameless, f"{word}: every control on {page or 'now'} has a name {nameless or ''}")
        faint = browser.run(CONTRAST)
        check(not faint, f"{word}: text on {page or 'now'} has a contrast of 4.5 or more {faint or ''}")


CONTRAST = """
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1;
  const pen = canvas.getContext('2d', {willReadFrequently: true});
  const rgba = (color) => { pen.clearRect(0, 0, 1, 1); pen.fillStyle = color; pen.fillRect(0, 0, 1, 1); return [...pen.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
  const found = [];
  for (const one of document.querySelectorAll('body *')) {
    if (one.closest('.phone, svg, .for-readers, :disabled, .skip') || !one.checkVisibility?.()) continue;
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    let around = one, ground;
    do { ground = rgba(getComputedStyle(around).backgroundColor); around = around.parentElement; } while (around && ground[3] < 255);
    const [a, b] = [light(rgba(getComputedStyle(one).color)), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${one.tagName}.${one.className}: ${ratio.toFixed(2)} "${one.textContent.trim().slice(0, 30)}"`);
  }
  return [...new Set(found)].slice(0, 5);
"""


def compose_and_send():
    browser = Browser()
    browser.log_in("ADMIN")
    browser.open("compose?event=start")
    browser.field("contentState.home").send_keys("0")
    browser.field("groupId").send_keys(GROUP)
    browser.field("attributes.home").send_keys("Larks")
    browser.field("attributes.away").send_keys("Terns")
    browser.field("alert.title").send_keys("Kick-off")
    browser.click(browser.find("input[name=audience][value=conditions]"))
    browser.click(browser.find_text("label", "home-fans"))
    browser.field("contentState.away").send_keys("nil")
    browser.click(browser.find("button[value=dry]"))
    browser.wait("a value that is not a number is marked at its field",
                 lambda: browser.field("contentState.away").get_attribute("aria-invalid") == "true")
    browser.field("contentState.away").clear()
    browser.click(browser.find("button[value=dry]"))
    browser.wait("the server's error names the field", lambda: "contentState.away is missing" in " ".join(browser.text().split()))
    browser.picture("walk-1-wrong-field")
    browser.field("contentState.away").send_keys("0")
    browser.click(browser.find("button[value=dry]"))
    browser.wait("a dry run counts the phones that it would reach", lambda: "would get it" in browser.text())
    browser.picture("walk-2-tried-out")
    browser.click(browser.find("button[value=send]"))
    browser.wait("the dialog has counted the phones", lambda: browser.run("return !document.querySelector('dialog button[value=yes]').disabled"))
    browser.picture("walk-3-confirm")
    browser.click(browser.find("dialog button[value=yes]"))
    browser.wait("the send's page opens", lambda: "/sends/" in browser.driver.current_url)
    browser.wait("the send's bar reaches 100 %", lambda: browser.run(
        "return [...document.querySelectorAll('.bar .says b')].some((one) => one.textContent === '100 %')"))
    browser.picture("walk-4-sent")
    check(not browser.errors(), f"no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()


def score_a_goal():
    browser = Browser()
    browser.log_in("ADMIN")
    browser.wait("the page Now lists the group, with its markup as text", lambda: GROUP in browser.text())
    card = browser.find_text("article", GROUP)
    check("home +1" in card.text and "away +1" in card.text, "a type without a layout has buttons from its schema")
    browser.click(card.find_element(By.XPATH, ".//a[normalize-space(.)='Update']"))
    browser.wait("an update is filled in with the group's state", lambda: browser.field("contentState.home").get_attribute("value") == "0")
    browser.field("contentState.home").clear()
    browser.field("contentState.home").send_keys("1")
    browser.click(browser.find("button[value=send]"))
    browser.wait("the dialog shows the goal", lambda: "0:0 → 1:0" in browser.run("return document.querySelector('dialog').innerText"))
    browser.click(browser.find("dialog button[value=yes]:not(:disabled)"))
    browser.wait("the goal's bar reaches 100 %", lambda: "/sends/" in browser.driver.current_url and browser.run(
        "return [...document.querySelectorAll('.bar .says b')].some((one) => one.textContent === '100 %')"))
    browser.picture("walk-5-goal")
    browser.click(browser.find_text("a", "Its group"))
    browser.wait("the group has the newest state", lambda: '"home": 1' in browser.text())
    settle(browser)
    browser.picture("walk-6-group")
    check(not browser.errors(), f"no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()


def ask_why():
    phone = some_phone()
    browser = Browser()
    browser.log_in("ADMIN")
    browser.open("people")
    browser.click(browser.find("input[name=kind][value=installation]"))
    browser.find("main input[type=search]").send_keys(phone + Keys.ENTER)
    browser.wait("a phone's page explains its state in a sentence", lambda: len(browser.find(".why").text) > 10)
    browser.picture("walk-7-why")
    check(not browser.errors(), f"no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()


def redrive_and_log_out():
    browser = Browser()
    browser.log_in("ADMIN")
    browser.open("dead-letters")
    browser.click(browser.find_text("button", "Send again"))
    browser.find("dialog[open]")
    browser.picture("walk-8-redrive")
    browser.click(browser.find("dialog button[value=yes]:not(:disabled)"))
    browser.wait("a dead letter is sent again", lambda: "Redrive done" in browser.text())
    browser.picture("walk-9-redriven")
    browser.click(browser.find_text("button", "Log out"))
    browser.find("input[name=key]")
    browser.open("sends")
    browser.driver.refresh()
    browser.find("input[name=key]")
    check(not any(cookie["name"].startswith("flotilla_session") for cookie in browser.driver.get_cookies()), "logging out removes the cookie")
    check(not browser.errors(), f"no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()


def some_phone():
    """Returns a phone that has started the group's activity."""
    end = time.time() + LIMIT
    while time.time() < end:
        for event in api("GET", "/v1/events?limit=500")["items"]:
            if event["code"] == "n:lut" and event.get("groupId") == GROUP:
                return event["installationId"]
        time.sleep(0.5)
    raise SystemExit("no phone has reported the group's activity")


def by_keyboard():
    browser = Browser()
    browser.open("")
    browser.find("input[name=key]")
    keyboard = lambda *keys: webdriver.ActionChains(browser.driver).send_keys(*keys).perform()  # noqa: E731
    keyboard(os.environ["ADMIN"], Keys.ENTER)
    browser.find("nav.menu")
    focused = lambda: browser.run("return document.activeElement.textContent.trim() || document.activeElement.name")  # noqa: E731
    for _ in range(6):
        keyboard(Keys.TAB)
        if focused() == "Compose":
            break
    check(focused() == "Compose", f"Tab reaches the menu: {focused()!r}")
    ring = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    check(ring == "solid", "the focused element is marked")
    keyboard(Keys.ENTER)
    browser.wait("Enter opens the page", lambda: "Try it out" in browser.text())
    browser.field("groupId")
    for _ in range(40):
        keyboard(Keys.TAB)
        if browser.run("return document.activeElement.value") == "dry":
            break
    keyboard(Keys.SPACE)
    browser.wait("the keyboard alone submits a form and reaches its errors",
                 lambda: browser.run("return document.activeElement.getAttribute('aria-invalid')") == "true")
    browser.close()


def by_a_key_that_may_look():
    browser = Browser()
    browser.log_in("READ")
    menu = browser.run("return document.querySelector('nav.menu').innerText")
    check("Compose" not in menu, "a read-only key does not see Compose in the menu")
    browser.open("compose")
    browser.wait("a read-only key does not get the page Compose", lambda: "This key may not open this page" in browser.text())
    browser.open("dead-letters")
    settle(browser)
    check(not browser.run("return [...document.querySelectorAll('main button')].some((one) => /again …|Discard/.test(one.textContent))"),
          "a read-only key cannot send dead letters again")
    status = browser.driver.execute_async_script("""const done = arguments[arguments.length - 1];
        fetch('/console/session').then((answer) => answer.json()).then(({token}) => fetch('/v1/sends', {method: 'POST',
          headers: {'flotilla-console': token}, body: JSON.stringify({event: 'end', groupId: 'x'})})).then((answer) => done(answer.status))""")
    check(status == 403, f"the server also refuses a send with a read-only key: {status}")
    browser.close()


def left_open():
    browser = Browser()
    browser.log_in("DOOMED")
    name = os.environ["DOOMED"].split("_")[2]
    subprocess.run([os.environ["FLOTILLA"], "keys", "revoke", name, "--kafka-brokers", os.environ["BROKER"]],
                   check=True, capture_output=True)
    browser.wait("an open page reports that its key is revoked", lambda: "revoked" in browser.run("return document.body.innerText"))
    browser.close()


class Evil(http.server.BaseHTTPRequestHandler):
    page = b""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(self.page)))
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_):
        pass


EVIL = """<!doctype html><title>evil</title><iframe id=frame src="%(at)s/console"></iframe>
<form id=form method=post enctype=text/plain action="%(at)s/v1/sends" target=out><input name='{"event":"end","groupId":"%(group)s","x":"' value='"}'></form>
<form id=session method=post action="%(at)s/console/session" target=out></form><iframe name=out></iframe>
<script>
const tries = [];
const note = (name, promise) => tries.push(promise.then((got) => [name, got], () => [name, 'refused']));
const body = JSON.stringify({event: 'end', groupId: '%(group)s'});
note('post', fetch('%(at)s/v1/sends', {method: 'POST', mode: 'no-cors', credentials: 'include', body}).then((answer) => answer.type));
note('post with a token', fetch('%(at)s/v1/sends', {method: 'POST', credentials: 'include', headers: {'flotilla-console': 'x'}, body}).then((answer) => answer.text()));
note('read the token', fetch('%(at)s/console/session', {credentials: 'include'}).then((answer) => answer.text()));
note('read groups', fetch('%(at)s/v1/groups', {credentials: 'include'}).then((answer) => answer.text()));
note('delete', fetch('%(at)s/v1/users/jane', {method: 'DELETE', credentials: 'include'}).then((answer) => answer.text()));
note('log out', fetch('%(at)s/console/session', {method: 'DELETE', mode: 'cors', credentials: 'include'}).then((answer) => answer.text()));
document.getElementById('form').submit();
document.getElementById('session').submit();
Promise.all(tries).then((list) => { window.got = list; });
</script>"""


def from_other_sites():
    def accepted():
        # Every accepted send appears in this list.
        return [send["sendId"] for send in api("GET", "/v1/sends?limit=500")["items"]]

    before = accepted()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Evil.page = (EVIL % {"at": GATEWAY, "group": GROUP}).encode()
    browser = Browser()
    browser.log_in("ADMIN")
    # With the same address the page is the same site for the browser, which then sends the cookie. With a name it is another site.
    for host in ["127.0.0.1", "localhost"]:
        browser.driver.get(f"http://{host}:{server.server_port}/")
        WebDriverWait(browser.driver, LIMIT).until(lambda driver: driver.execute_script("return window.got"))
        got = dict(browser.run("return window.got"))
        check(all(answer in ("refused", "opaque") for answer in got.values()), f"a page from {host} can read nothing: {got}")
        browser.wait(f"a page from {host} cannot show the console in a frame", lambda: browser.run(
            "try { return !document.getElementById('frame').contentDocument } catch { return true }"))
    time.sleep(3)
    check(sorted(accepted()) == sorted(before), "the other pages sent nothing")
    browser.open("")
    browser.find("nav.menu")
    check(True, "the session of the logged-in user is still valid")
    browser.close()
    server.shutdown()


MARKUP = ["<script>ran()</script>", "<img src=x onerror=ran()>", "<svg onload=ran()>", "\"><b>", "'onfocus='ran()' autofocus='",
          "javascript:ran()", "{{ran()}}", "</title><script>ran()</script>", "<iframe srcdoc='<script>ran()</script>'>", "&lt;b&gt;"]


def until_known(user):
    end = time.time() + LIMIT
    while True:
        try:
            return api("GET", "/v1/users/" + urllib.parse.quote(user, safe=""))
        except urllib.error.HTTPError as error:
            if error.code not in (404, 503) or time.time() > end:
                raise
            time.sleep(0.2)


def names_with_markup():
    names = MARKUP + [f"{MARKUP[number % len(MARKUP)]}{number}" for number in range(len(MARKUP), 10_000)]
    reports = [{"installationId": f"i{number} {name}"[:190], "userId": name, "environment": "production", "kind": "startToken",
                "attributesType": f"T{name}"[:100], "token": f"{number:064x}", "tags": [name]} for number, name in enumerate(names)]
    for start in range(0, len(reports), 1000):
        api("POST", "/v1/reports", reports[start:start + 1000])
    for name in [*MARKUP, names[17], names[9_999]]:
        until_known(name)
    browser = Browser()
    browser.log_in("ADMIN")
    browser.run("window.ran = () => { window.hasRun = true }")
    for name in [*MARKUP, names[17], names[9_999]]:
        browser.run("location.hash = '#/people/user/' + encodeURIComponent(arguments[0])", name)
        browser.wait(f"the page shows the name {name} as text", lambda name=name: name in browser.run("return document.querySelector('h1').textContent"))
    browser.run("location.hash = '#/events?range=24h'")
    browser.wait("the list of events shows names with markup", lambda: "ran()" in browser.text())
    browser.picture("markup-events")
    made = browser.driver.execute_async_script("""const [names, done] = arguments;
        Promise.all(['h', 'parts', 'charts', 'preview'].map((name) => import(`/console/${name}.js`))).then(([{h}, parts, charts, {preview}]) => {
          const place = document.createElement('section');
          document.body.append(place);
          place.append(parts.table('names', [{title: 'Name', cell: (name) => name}], names));
          for (const name of names) place.append(h('p', {title: name}, name), parts.head(name, {sub: name}), parts.notice('', name),
            charts.bar(name, [{name, value: 1, series: 0}], 2, [name]), preview({title: name, layout: {sides: [], lines: [], steps: []}, event: 'start', alert: {title: name}, state: {[name]: name}}));
          done([place.querySelectorAll('script, img, iframe, b:not(.says b), [onerror], [onload], [onfocus]').length, place.textContent.includes('<script>'), !!window.hasRun]);
        }, (error) => done([String(error)]))""", names)
    check(made == [0, True, False], f"10,000 names with markup are text in every element: {made}")
    check(not browser.run("return !!window.hasRun"), "no script in a name has run")
    check(not browser.errors(), f"no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()


for step in [compose_and_send, score_a_goal, ask_why, redrive_and_log_out, by_keyboard, by_a_key_that_may_look, left_open, from_other_sites, names_with_markup]:
    print(f"     {step.__name__.replace('_', ' ')}", flush=True)
    try:
        step()
    except Exception as error:  # noqa: BLE001 the other steps still run
        check(False, f"{step.__name__}: {error!r}")
for word, width, height, dark in [("light", 1280, 900, False), ("dark", 1280, 900, True), ("small", 360, 740, False), ("small-dark", 360, 740, True)]:
    browser = Browser(width, height, dark)
    browser.open("")
    browser.find("input[name=key]")
    browser.picture(f"{word}-door")
    browser.log_in("ADMIN")
    pictures(browser, word)
    check(not browser.errors(), f"{word}: no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()
print(f"flotilla: {len(failures)} failed")
sys.exit(1 if failures else 0)
