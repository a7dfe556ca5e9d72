"""Makes the mistakes of a busy match night in the console, in headless Chromium. None of them may change a lock screen."""
import base64
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import console_browser
from console_browser import PICTURES, Browser, api, check, failures
from console_proxy import Proxy

console_browser.LIMIT = 20
# The proxy loses answers, and a look-up may find no send.
console_browser.REFUSED += ("status of 404", "ERR_EMPTY_RESPONSE")
TYPE = "MatchAttributes"
# A phone that was started for a group is not started again, so each run has its own groups.
RUN = time.strftime("%H%M%S")
FINAL, SECOND, UNKNOWN = f"cup-final-{RUN}", f"derby-{RUN}", f"cup-fnal-{RUN}"
ADDRESS = os.environ["GATEWAY"].removeprefix("http://").split(":")
PROXY = Proxy(ADDRESS[0], int(ADDRESS[1]), os.environ.get("CONSOLE_FILES"))
console_browser.CONSOLE = PROXY.address


def send(event, group, home=0, away=0, **fields):
    body = {"event": event, "groupId": group, "contentState": {"home": home, "away": away}, **fields}
    if event == "start":
        body |= {"attributesType": TYPE, "audience": "everyone", "attributes": {"home": "Larks", "away": "Terns"}, "alert": {"title": "Kick-off"}}
    return api("POST", "/v1/sends", body)


def group(name):
    try:
        return api("GET", f"/v1/groups/{name}")
    except urllib.error.HTTPError:
        return {"running": 0, "onNewest": 0, "newest": {"contentState": {}}}


def until(sentence, fact, limit=20):
    end = time.time() + limit
    while time.time() < end:
        if fact():
            return
        time.sleep(0.05)
    raise TimeoutError(sentence)


def shows(name, home, away=0):
    state = group(name)
    return state["newest"]["contentState"] == {"home": home, "away": away} and state["running"] == state["onNewest"] > 0


def on_phones(name):
    """Returns how many lock screens show which state of a group, as the simulated phones say."""
    with open(os.environ["LOG"]) as log:
        control = re.search(r'"control":"([0-9.:]+)"', log.read()).group(1)
    with urllib.request.urlopen(f"http://{control}/v1/groups/{name}", timeout=10) as answer:
        return json.load(answer)


def dialog(browser):
    return browser.run("return document.querySelector('dialog')?.innerText ?? ''")


def is_ready(browser):
    return browser.run("return document.querySelector('dialog button[value=yes]')?.disabled === false")


def press(browser, text):
    """Presses a button of the dialog. The page behind may have one with the same text."""
    browser.click(browser.find("dialog").find_element(By.XPATH, f".//button[contains(., '{text}')]"))


def verdict(browser):
    return browser.run("const tag = document.querySelector('h1 .tag'); return [tag?.className, tag?.innerText]")


def open_update(browser, name, home=None):
    # The address differs, so that the page is new and no draft of a step before is restored.
    browser.open(f"compose?event=update&group={name}&type={TYPE}&at={time.time_ns()}")
    browser.wait(f"an update of {name} is filled in", lambda: browser.field("contentState.home").get_attribute("value") != "")
    if home is not None:
        put(browser, "contentState.home", home)


def put(browser, path, value):
    """Writes a value into a field. A form draws its fields again when it has read its activity type."""
    def is_written():
        try:
            field = browser.field(path)
            field.clear()
            field.send_keys(str(value))
            return browser.field(path).get_attribute("value") == str(value)
        except WebDriverException:
            return False

    until(f"{path} is {value}", is_written)


def fill_start(browser):
    for path, value in [("contentState.home", 0), ("contentState.away", 0), ("attributes.home", "Larks"), ("attributes.away", "Terns")]:
        put(browser, path, value)


def press_send(browser):
    browser.click(browser.find("button[value=send]"))


def keys(browser, *pressed):
    webdriver.ActionChains(browser.driver).send_keys(*pressed).perform()


def step_1_half_filled_times(browser):
    before = PROXY.sends()
    open_update(browser, FINAL, 5)
    browser.click(browser.find("input[name=when][value=at]"))
    browser.field("when").send_keys("11272029")
    press_send(browser)
    browser.wait("1: a date without a time is marked at its field", lambda: browser.field("when").get_attribute("aria-invalid") == "true")
    browser.click(browser.find("input[name=when][value=offset]"))
    press_send(browser)
    browser.wait("1: an empty delay is marked at its field", lambda: browser.field("when.offset").get_attribute("aria-invalid") == "true")
    browser.click(browser.find("input[name=when][value=now]"))
    browser.run("document.querySelector('form details:last-of-type').open = true")
    browser.field("staleDate").send_keys("11272029")
    press_send(browser)
    browser.wait("1: half a date among the rare fields is marked too", lambda: browser.field("staleDate").get_attribute("aria-invalid") == "true")
    check(dialog(browser) == "" and PROXY.sends() == before, "1: nothing asks for a confirmation, and nothing is sent")


def step_2_older_form(browser):
    open_update(browser, FINAL, 1)
    put(browser, "contentState.away", 1)
    send("update", FINAL, 2)
    until("the feed's goal", lambda: group(FINAL)["newest"]["contentState"]["home"] == 2)
    before = PROXY.sends()
    press_send(browser)
    browser.wait("2: a form that is older than its group is refused", lambda: "has a newer state" in dialog(browser))
    cells = browser.run("return [...document.querySelectorAll('dialog td')].map((one) => one.innerText.trim())")
    check(cells[1:4] == ["1", "2", "1"] and cells[5:8] == ["0", "0", "1"], f"2: the refusal shows both states: {cells}")
    check(not browser.find("dialog button[value=yes]").is_displayed(), "2: the refusal has no button to send")
    browser.picture("safety-2-refused")
    press(browser, "Keep my values")
    press_send(browser)
    browser.wait("2: the next look shows the change from the newest state", lambda: "2:0 → 1:1" in dialog(browser) and is_ready(browser))
    send("update", FINAL, 3)
    until("another goal", lambda: group(FINAL)["newest"]["contentState"]["home"] == 3)
    browser.click(browser.find("dialog button[value=yes]"))
    browser.wait("2: a goal that comes while the dialog is open also refuses the send", lambda: "has a newer state" in dialog(browser))
    check(PROXY.sends() == before + 1, "2: the planner refused this send")
    until("2: no phone has changed", lambda: shows(FINAL, 3))
    browser.driver.refresh()
    time.sleep(6)
    check("/compose" in browser.driver.current_url and browser.field("contentState.away").get_attribute("value") == "1", "2: the form survives a reload after the refusal")
    press_send(browser)
    browser.wait("2: the old form is refused again", lambda: "has a newer state" in dialog(browser))
    press(browser, "Take the newest state")
    browser.wait("2: the newest state comes into the form", lambda: browser.field("contentState.home").get_attribute("value") == "3")


def step_3_trial_of_another_body(browser):
    browser.open(f"compose?event=start&type={TYPE}&at={time.time_ns()}")
    browser.wait("3: an empty start is open", lambda: browser.field("attributes.home").is_displayed() and browser.field("attributesType").get_attribute("value") == TYPE)
    fill_start(browser)
    put(browser, "groupId", f"friendly-{RUN}")
    put(browser, "alert.title", "Kick-off")
    browser.click(browser.find("button[value=dry]"))
    browser.wait("3: a trial counts everyone", lambda: "944 phones would get it" in " ".join(browser.text().split()))
    browser.click(browser.find("input[name=audience][value=users]"))
    browser.field("audience.users").send_keys("nobody-of-this-name")
    check("944" not in browser.text(), "3: a changed form has no trial")
    press_send(browser)
    browser.wait("3: the dialog counts the phones of this body", lambda: "user nobody-of-this-name: 0 phones, now" in dialog(browser))
    check(not is_ready(browser), "3: a send to nobody must be confirmed with a box")


def step_4_enter(browser):
    before = PROXY.sends()
    open_update(browser, FINAL, 6)
    for path in ["groupId", "contentState.home", "alert.title"]:
        browser.field(path).send_keys(Keys.ENTER, Keys.ENTER)
    check(dialog(browser) == "", "4: Enter in a field does not ask for a confirmation")
    press_send(browser)
    browser.wait("4: the dialog is ready", lambda: is_ready(browser))
    check(browser.run("return document.activeElement.value") == "no", "4: the focus is on Not now")
    keys(browser, Keys.TAB)
    check(browser.run("return document.activeElement.closest('dialog') !== null"), "4: Tab stays in the dialog")
    for _ in range(4):
        if browser.run("return document.activeElement.value") == "yes":
            break
        keys(browser, Keys.TAB)
    keys(browser, Keys.ENTER, Keys.ENTER)
    check(dialog(browser) != "" and PROXY.sends() == before, "4: Enter on the button that sends does not send")
    keys(browser, Keys.ESCAPE)
    press_send(browser)
    browser.wait("4: the dialog is ready again", lambda: is_ready(browser))
    keys(browser, Keys.ENTER, Keys.ENTER)
    check(dialog(browser) == "" and PROXY.sends() == before, "4: Enter, Enter says Not now")
    browser.open(f"compose?event=end&group={FINAL}&type={TYPE}&at={time.time_ns()}")
    browser.wait("4: an end is open", lambda: browser.find("input[name=event][value=end]").is_selected()
                 and browser.field("groupId").get_attribute("value") == FINAL and browser.field("contentState.home").get_attribute("value") != "")
    press_send(browser)
    browser.wait("4: the dialog of an end is ready", lambda: is_ready(browser) and "End" in dialog(browser))
    check("ended" in browser.find("dialog .phone").text, "4: the dialog of an end shows how an ended activity looks")
    keys(browser, Keys.ENTER, Keys.ENTER)
    check(dialog(browser) == "" and PROXY.sends() == before and group(FINAL)["state"] == "live", "4: Enter, Enter says Not now to an end too")


def step_5_nothing_reached(browser):
    browser.open(f"compose?event=update&group={UNKNOWN}&type={TYPE}&at={time.time_ns()}")
    put(browser, "contentState.home", 1)
    put(browser, "contentState.away", 0)
    press_send(browser)
    browser.wait("5: the dialog says that the group is unknown", lambda: f"{UNKNOWN} is unknown" in dialog(browser) and ": 0 phones" in dialog(browser))
    check(not is_ready(browser), "5: a send to an unknown group needs a box")
    browser.click(browser.find("dialog input[type=checkbox]"))
    browser.wait("5: the box permits the send", lambda: is_ready(browser))
    browser.click(browser.find("dialog button[value=yes]"))
    browser.wait("5: its outcome is that it reached no phone", lambda: verdict(browser)[1] == "reached no phone")
    check(verdict(browser)[0] == "tag warn", "5: the outcome is not green")
    progress = {"sendId": "r-1", "verdict": "planned", "isComplete": True, "lanesExpected": 12, "lanesDone": 12, "targeted": 944, "expanded": 944,
                "dropped": 0, "excluded": {}, "lanes": [], "report": {"pushed": 944, "accepted": 0, "rejected": 944, "toGo": 0, "rejectedBy": {"BadTopic": 944}}}
    PROXY.canned["/v1/sends/r-1"] = progress
    browser.open("sends/r-1")
    browser.wait("5: a send that APNs rejected 944 times has failed", lambda: verdict(browser) == ["tag bad", "failed"])
    browser.open("")
    browser.wait("5: the mistyped group is not live on Now", lambda: f"{UNKNOWN}\nno phones" in browser.text())


def step_6_fixed_order(browser):
    browser.open("")
    names = lambda: browser.run("return [...document.querySelectorAll('article h2')].map((one) => one.innerText)")  # noqa: E731
    browser.wait("6: Now shows both matches", lambda: {FINAL, SECOND} <= set(names()))
    order = names()
    for name in [FINAL, SECOND]:
        sent = send("update", name, 4)["acceptedAt"]
        browser.wait(f"6: Now has the update of {name}", lambda name=name: "4:0" in browser.run(
            "return [...document.querySelectorAll('article')].find((one) => one.innerText.startsWith(arguments[0])).innerText", name))
        check(names() == order and sent, f"6: the cards stay in their places after an update of {name}")


def step_7_figures(browser):
    made = browser.driver.execute_async_script("""const done = arguments[arguments.length - 1];
        Promise.all([import('/console/series.js'), import('/console/troubles.js')]).then(([{pushRate, recentCounts}, {BehindSince, troubles}]) => {
          const now = Date.now();
          const end = now - now % 10000 + 10000;
          // The period that has begun does not count, and the six before it are the last minute.
          const items = Array.from({length: 8}, (_, index) => ({at: end - 10000 * (index + 1), accepted: 500, rejected: 100, superseded: 900}));
          const series = {to: end, periodMilliseconds: 10000, items};
          const group = (lastAt) => ({groupId: 'g', newest: {}, running: 100, onNewest: 10, share: 0.1, lastAt});
          const behind = new BehindSince();
          for (let at = now - 40000; at <= now; at += 1000) behind.took([group(at)], [], at);
          const fresh = new BehindSince();
          fresh.took([group(now)], [{groupId: 'g', since: now - 90000}], now);
          done([pushRate(series), recentCounts(series, 10).filter(Boolean).length, troubles({groups: [group(now)], behind, fleet: null}).length,
            troubles({groups: [group(now)], behind: fresh, fleet: null}).length, troubles({groups: [], behind, failures: {BadTopic: 3}, fleet: null}).length]);
        }, (error) => done(String(error)))""")
    check(made == [60, 7, 1, 1, 1], f"7: the rate is that of the last minute, and sends do not hide phones that stay behind: {made}")
    browser.open("")
    browser.wait("7: Now has three charts of the last 15 minutes", lambda: browser.run("return document.querySelectorAll('main svg.chart.small').length") == 3)
    browser.wait("7: the charts show pushes", lambda: browser.run("return document.querySelectorAll('main svg.chart.small rect.mark').length") > 0)
    asked = api("GET", "/v1/series?range=15m")
    pushed = sum(one.get("accepted", 0) for one in asked["items"])
    check(pushed >= 944 * 4, f"7: the series has all pushes of the last minutes: {pushed}")
    browser.click(browser.find("input[name=series-range][value='24h']"))
    browser.wait("7: Now has three charts of the last 24 hours", lambda: "one column for each 10 min" in browser.text() and browser.run("return document.querySelectorAll('main svg.chart.small').length") == 3)
    browser.picture("safety-7-charts")
    PROXY.canned[f"/v1/groups/{FINAL}"] = {"groupId": FINAL, "state": "live", "version": 1, "generation": 1, "updates": 0, "lastAt": 1, "startedAt": 1,
                                           "running": 0, "onNewest": 944, "versions": []}
    browser.open(f"groups/{FINAL}")
    browser.wait("7: accepted pushes are not phones that show them", lambda: "APNs accepted the newest state for 944 phones, and no phone reports" in browser.text())
    check("944 of 944" not in browser.text(), "7: it does not say 944 of 944")
    del PROXY.canned[f"/v1/groups/{FINAL}"]
    for number, (waiting, word) in enumerate([(944, "waiting for Allow"), (44, "done")]):
        PROXY.canned[f"/v1/sends/r-7{number}"] = {"sendId": f"r-7{number}", "event": "start", "verdict": "planned", "isComplete": True, "targeted": 944, "expanded": 944,
                                                  "report": {"pushed": 944, "accepted": 944, "toGo": 0, "waitingForAllow": waiting}}
        browser.open(f"sends/r-7{number}")
        browser.wait(f"7: a start that {waiting} phones do not report is: {word}", lambda word=word: verdict(browser)[1] == word)
    browser.wait("7: a start that most phones report says how many wait", lambda: "44 phones report no running activity" in browser.text())


def step_8_person(browser):
    reason = lambda code, sentence: {"code": code, "sentence": sentence}  # noqa: E731
    activity = lambda number, why: {"activityId": f"a{number}", "groupId": f"match-{number}", "state": "active", "why": why}  # noqa: E731
    bad, good = reason("refused", "no push can reach it: APNs rejected its update token"), reason("shows_newest", "it shows version 7, the newest")
    PROXY.canned["/v1/users/ann"] = {"userId": "ann", "why": bad, "events": [], "installations": [
        {"installationId": "p1", "why": bad, "activities": [activity(number, bad if number < 3 else good) for number in range(1, 7)]}],
        "pushes": [{"at": 1, "acceptedAt": 1, "sendId": "r-2", "event": "update", "groupId": "match-1", "outcome": "superseded", "reason": "newer_version"}]}
    browser.open("people/user/ann")
    browser.wait("8: the headline counts the activities", lambda: "2 of 6 running activities need attention; 4 are as they should be" in browser.find(".why").text)
    check("APNs answered newer_version" not in browser.text() and "A newer state replaced it" in browser.text(), "8: a superseded push has no answer of APNs")


def step_9_lost_answer(browser):
    before = PROXY.sends()
    open_update(browser, SECOND, 7)
    press_send(browser)
    browser.wait("9: the dialog is ready", lambda: is_ready(browser))
    PROXY.fault = "lost"
    browser.click(browser.find("dialog button[value=yes]"))
    browser.wait("9: a lost answer is looked up", lambda: "looks up whether it is stored" in dialog(browser))
    browser.picture("safety-9-looking-up")
    browser.driver.refresh()
    PROXY.fault = None
    browser.driver.refresh()
    browser.wait("9: after a reload too, the console finds the send that was stored", lambda: "/sends/" in browser.driver.current_url)
    check(PROXY.sends() == before + 1, "9: it was sent once")
    open_update(browser, SECOND, 8)
    press_send(browser)
    browser.wait("9: the dialog is ready", lambda: is_ready(browser))
    # The comparison before the send still gets an answer.
    PROXY.fault = "refused"
    browser.click(browser.find("dialog button[value=yes]"))
    browser.wait("9: an unanswered send is looked up", lambda: "looks up whether it is stored" in dialog(browser))
    PROXY.fault = None
    browser.wait("9: a send that never arrived is reported as not sent", lambda: "nothing was sent" in browser.text())
    check(browser.field("contentState.home").get_attribute("value") == "8", "9: the form is unchanged")


def step_9_killed_gateway(browser):
    """Kills a second gateway, which has a session of the first one, in the middle of a send."""
    first = PROXY.target
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gateway = subprocess.Popen(
        [os.environ["FLOTILLA"], "run", "gateway", "--data", f"{os.environ['DATA']}/second", "--kafka-brokers", os.environ["BROKER"], "--gateway-listen", f"127.0.0.1:{port}",
         "--admin-listen", "127.0.0.1:0", "--tokens-sealing-keys-file", f"{os.environ['DATA']}/up/sealing-keys"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until("the second gateway and its way to insight", lambda: is_serving(port))
        PROXY.target, PROXY.fault, PROXY.kill = ("127.0.0.1", port), "killed", gateway.kill
        open_update(browser, SECOND, 8)
        before = PROXY.sends()
        press_send(browser)
        browser.wait("9: a second gateway shows the dialog", lambda: is_ready(browser))
        browser.click(browser.find("dialog button[value=yes]"))
        browser.wait("9: with a killed gateway too, the send is looked up", lambda: "looks up whether it is stored" in dialog(browser))
        PROXY.target, PROXY.fault = first, None
        browser.wait("9: another gateway knows that it was not stored", lambda: "nothing was sent" in browser.text())
        check(browser.field("contentState.home").get_attribute("value") == "8", "9: the form survives the killed gateway")
        check(PROXY.sends() == before + 1, "9: the console does not send again by itself")
    finally:
        PROXY.target = first
        gateway.kill()
        gateway.wait()


def is_serving(port):
    try:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/groups", headers={"Authorization": "Bearer " + os.environ["ADMIN"]})
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def step_10_form_survives(browser):
    browser.open(f"compose?event=update&group={SECOND}&type={TYPE}&at=survives")
    browser.wait("10: the form is filled in", lambda: browser.field("contentState.home").get_attribute("value") == "7")
    put(browser, "contentState.home", 9)
    put(browser, "alert.title", "Unsent goal")
    has_values = lambda: (browser.field("contentState.home").get_attribute("value"), browser.field("alert.title").get_attribute("value")) == ("9", "Unsent goal")  # noqa: E731
    browser.open("sends")
    browser.wait("10: another page", lambda: "Sends of the last" in browser.text())
    browser.driver.back()
    browser.wait("10: the form survives another page", has_values)
    browser.driver.delete_all_cookies()
    browser.driver.refresh()
    browser.find("input[name=key]").send_keys(os.environ["ADMIN"], Keys.ENTER)
    browser.wait("10: the form survives a new log-in", has_values)
    browser.open("compose")
    browser.wait("10: the page lists the forms that are not sent", lambda: f"update of {SECOND}" in browser.text())


def step_10_revoked_key(_):
    """Revokes the key of a reader who has filled in a form. Another key of the app continues it."""
    made = api("POST", "/v1/keys", {"role": "send", "name": f"night shift {RUN}"})
    os.environ["NIGHT"] = made["key"]
    browser = Browser()
    browser.log_in("NIGHT")
    browser.open(f"compose?event=update&group={SECOND}&type={TYPE}&at=revoked")
    browser.wait("10: the form is filled in", lambda: browser.field("contentState.home").get_attribute("value") != "")
    put(browser, "alert.title", "Goal of the night shift")
    api("DELETE", f"/v1/keys/{made['id']}")
    browser.wait("10: the page says that its key is revoked", lambda: "revoked" in browser.run("return document.body.innerText"))
    browser.find("input[name=key]").send_keys(os.environ["ADMIN"], Keys.ENTER)
    browser.wait("10: another key of the app goes on with the form", lambda: browser.field("alert.title").get_attribute("value") == "Goal of the night shift")
    browser.close()


def step_11_compose_update(browser):
    browser.open(f"compose?at={time.time_ns()}")
    browser.click(browser.find("input[name=event][value=update]"))
    names = browser.run("return [...document.querySelectorAll('#groups option')].map((one) => one.value)")
    check({FINAL, SECOND} <= set(names), f"11: the form suggests the live groups: {names}")
    put(browser, "groupId", SECOND)
    keys(browser, Keys.TAB)
    browser.wait("11: the group's type and state are filled in", lambda: browser.field("attributesType").get_attribute("value") == TYPE
                 and browser.field("contentState.home").get_attribute("value") == "7")


def step_12_colors(browser):
    legend = "return Object.fromEntries([...document.querySelectorAll('.legend li')].map((one) => [one.textContent.replace(/[\\d, ]+$/, ''), one.querySelector('rect.mark').getAttribute('class')]))"
    PROXY.canned["/v1/sends/r-3"] = {"sendId": "r-3", "verdict": "planned", "isComplete": True, "expanded": 5, "targeted": 5, "report": {
        "pushed": 4, "accepted": 1, "superseded": 1, "rejected": 1, "unknown": 1, "expired": 1, "toGo": 0}}
    browser.open("sends/r-3")
    browser.find(".legend")
    of_send = browser.run(legend)
    browser.open(f"groups/{FINAL}")
    browser.find(".legend")
    of_group = browser.run(legend)
    check(len(of_send) == 5 and of_send == of_group and len(set(of_send.values())) == 5, f"12: each outcome has one color everywhere: {of_send} {of_group}")


def step_14_half_known(browser):
    PROXY.canned["/v1/sends/r-4"] = {"sendId": "r-4", "verdict": "planned", "isComplete": False, "lanesExpected": 12, "lanesDone": 1,
                                     "targeted": 73, "expanded": 73, "report": {"pushed": 0, "accepted": 0, "toGo": 944}}
    browser.open("sends/r-4")
    browser.wait("14: a send that is not counted yet says so", lambda: "counting: 1 of 12 lanes" in browser.text())
    check("73" not in browser.text() and "944" not in browser.text(), "14: it shows no half-known figures")
    PROXY.canned["/v1/sends/t-5"] = {"sendId": "t-5", "verdict": "scheduled", "isComplete": False, "dueAt": int(time.time() * 1000) + 60_000, "targeted": 0, "expanded": 0, "report": {"pushed": 0}}
    browser.open("sends/t-5")
    browser.wait("14: a scheduled send waits", lambda: "It waits for its time" in browser.text())
    check("0 of 1" not in browser.text(), "14: it has no bar of pushes")


def step_15_weight(browser):
    browser.open("")
    browser.find("article")
    time.sleep(2)
    before, began = PROXY.bytes, time.time()
    time.sleep(6)
    rate = (PROXY.bytes - before) / (time.time() - began)
    check(rate <= 5000, f"15: an open page costs {rate:.0f} bytes a second")
    if not PROXY.folder:
        fresh = Browser()
        before = PROXY.bytes
        fresh.open("")
        fresh.find("input[name=key]")
        check(PROXY.bytes - before <= 150_000, f"15: the first load costs {PROXY.bytes - before:,} bytes")
        for path in ["/", "/console/"]:
            fresh.driver.get(PROXY.address + path)
            fresh.wait(f"15: {path} leads to the console", lambda: fresh.driver.current_url.endswith("/console"))
        fresh.close()
    with open(os.environ["LOG"]) as log:
        check("The console is at http" in log.read(), "15: up --demo prints the console's address")
    for file, address in [("README.md", "http://127.0.0.1:8080/console"), ("deploy/compose/try-it.sh", "$GATEWAY/console"), ("deploy/book/compose.md", "http://localhost:8080/console")]:
        with open(file) as source:
            check(address in source.read(), f"15: {file} has the console's address")


def card(browser, name):
    return browser.find_text("article", name)


def press_step(browser, name, label):
    browser.click(card(browser, name).find_element(By.XPATH, f".//button[normalize-space(.)='{label}']"))


def at_score(name, home):
    """Brings a group to a score, and waits until its phones have it."""
    send("update", name, home)
    until(f"{name} at {home}:0", lambda: shows(name, home))


def step_strangers_task(_):
    """A stranger with a key sees the card of a match at 1:0 and brings all phones to 2:0."""
    at_score(FINAL, 1)
    browser = Browser()
    browser.log_in("ADMIN")
    browser.wait("stranger: the card has the score, the teams and the buttons", lambda: "Larks\n1:0\nTerns\nhome +1" in card(browser, FINAL).text)
    browser.run("""window.inputs = 0; window.began = 0;
        for (const name of ['pointerdown', 'keydown']) document.addEventListener(name, () => { window.inputs += 1; window.began ||= Date.now(); }, true)""")
    press_step(browser, FINAL, "home +1")
    browser.wait("stranger: the change is counted", lambda: is_ready(browser) and f"1:0 → 2:0, {FINAL}, everyone with it: 944 phones, now" in dialog(browser))
    check("Larks 2 : 0 Terns" in " ".join(browser.find("dialog .activity").text.replace(":", " : ").split()), "stranger: the dialog shows the lock screen at 2:0, with the teams")
    browser.picture("safety-stranger-dialog")
    browser.click(browser.find("dialog button[value=yes]"))
    phones = lambda: next((one["activities"] for one in on_phones(FINAL)["shown"] if one["contentState"] == {"home": 2, "away": 0}), 0)  # noqa: E731
    until("2:0 on all phones", lambda: phones() == 944)
    arrived = time.time()
    inputs, began = browser.run("return [window.inputs, window.began]")
    seconds = arrived - began / 1000
    check(inputs <= 3 and seconds < 5, f"stranger: from the card to 944 lock screens at 2:0 in {inputs} inputs and {seconds:.1f} s")
    check(not browser.errors(), f"stranger: no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()


def step_match_mode(browser):
    browser.open("")
    browser.wait("match: the card has the buttons of the score", lambda: "home +1" in card(browser, FINAL).text)
    home = group(FINAL)["newest"]["contentState"]["home"]
    until("all phones", lambda: shows(FINAL, home))
    browser.wait("match: the card has the newest score", lambda: f"{home}:0" in card(browser, FINAL).text)
    press_step(browser, FINAL, "home +1")
    browser.wait("match: the change is counted", lambda: is_ready(browser))
    sentence = f"{home}:0 → {home + 1}:0, {FINAL}, everyone with it: 944 phones, now"
    check(sentence in dialog(browser), f"match: the dialog says {sentence!r}")
    browser.click(browser.find("dialog button[value=yes]"))
    until("the goal on all phones", lambda: shows(FINAL, home + 1))
    undo = f"put back {home}:0"
    browser.wait("match: the step can be put back", lambda: undo in card(browser, FINAL).text)
    browser.picture("safety-match")
    browser.open("sends")
    browser.find("tbody tr")
    browser.open("")
    browser.driver.refresh()
    browser.wait("match: it can be put back after another page and a reload too", lambda: undo in card(browser, FINAL).text)
    browser.click(card(browser, FINAL).find_element(By.CSS_SELECTOR, "button.undo"))
    browser.wait("match: put back is confirmed with its change", lambda: f"{home + 1}:0 → {home}:0" in dialog(browser) and is_ready(browser))
    browser.click(browser.find("dialog button[value=yes]"))
    until("the earlier state on all phones", lambda: shows(FINAL, home))
    browser.wait("match: what was put back cannot be put back again", lambda: "put back" not in card(browser, FINAL).text)
    open_update(browser, FINAL, home + 2)
    press_send(browser)
    browser.wait("match: the dialog counts", lambda: is_ready(browser))
    browser.click(browser.find("dialog button[value=yes]"))
    until("the update of the form on all phones", lambda: shows(FINAL, home + 2))
    browser.open("")
    browser.wait("match: an update of the form can be put back too", lambda: undo in card(browser, FINAL).text)
    send("update", FINAL, home + 3)
    until("the feed's goal on all phones", lambda: shows(FINAL, home + 3))
    browser.click(card(browser, FINAL).find_element(By.CSS_SELECTOR, "button.undo"))
    browser.wait("match: put back is refused if another send came in between", lambda: "has a newer state than this card had" in dialog(browser))
    keys(browser, Keys.ESCAPE)
    check("was stored" not in browser.text(), "match: a refused step is not reported as stored")
    check(shows(FINAL, home + 3), "match: the newer state stays on the phones")


def tap(browser, selector):
    """Touches the middle of an element, as a thumb does."""
    x, y = browser.run("""const box = (typeof arguments[0] === 'string' ? document.querySelector(arguments[0]) : arguments[0]).getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2]""", selector)
    browser.command("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    browser.command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def step_match_in_one_hand(_):
    browser = Browser(360, 740, dark=True)
    browser.command("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.log_in("ADMIN")
    home = group(SECOND)["newest"]["contentState"]["home"]
    browser.wait("one hand: the card has its buttons", lambda: "home +1" in card(browser, SECOND).text)
    first = browser.run("return document.querySelector('article button.step').getBoundingClientRect().bottom")
    check(first <= 740, f"one hand: the buttons of the first match are on the screen without scrolling: {first:.0f} px")
    button = card(browser, SECOND).find_element(By.XPATH, ".//button[normalize-space(.)='home +1']")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", button)
    check(browser.run("const box = arguments[0].getBoundingClientRect(); return box.height >= 44 && box.width >= 100", button), "one hand: a button of the score is large enough for a thumb")
    tap(browser, button)
    browser.wait("one hand: one tap opens the dialog", lambda: is_ready(browser) and f"{home}:0 → {home + 1}:0, {SECOND}" in dialog(browser))
    seen = browser.run("""const box = document.querySelector('dialog button[value=yes]').getBoundingClientRect(), drawn = document.querySelector('dialog .activity').getBoundingClientRect();
        return [box.bottom <= innerHeight && box.top > innerHeight * 0.6 && box.height >= 44, drawn.top >= 0 && drawn.bottom <= box.top]""")
    check(seen == [True, True], f"one hand: the preview is on the screen, and the button that sends lies under the thumb: {seen}")
    shot = browser.command("Page.captureScreenshot")
    with open(f"{PICTURES}/safety-one-hand.png", "wb") as file:
        file.write(base64.b64decode(shot["data"]))
    tap(browser, "dialog button[value=yes]")
    until("the goal by thumb", lambda: shows(SECOND, home + 1))
    browser.wait("one hand: the step can be put back", lambda: f"put back {home}:0" in card(browser, SECOND).text)
    browser.picture("safety-one-hand-now")
    undo = card(browser, SECOND).find_element(By.CSS_SELECTOR, "button.undo")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", undo)
    tap(browser, undo)
    browser.wait("one hand: put back opens its dialog", lambda: is_ready(browser) and f"{home + 1}:0 → {home}:0" in dialog(browser))
    tap(browser, "dialog button[value=yes]")
    until("the earlier state by thumb", lambda: shows(SECOND, home))
    check(True, "one hand: taps alone bring a goal to all phones and put it back")
    browser.close()


def step_match_by_keyboard(browser):
    browser.open("")
    browser.driver.refresh()
    browser.wait("keyboard: the card has its buttons", lambda: "home +1" in browser.text())
    home = group(FINAL)["newest"]["contentState"]["home"]
    tab_until(browser, f"return document.activeElement.textContent === 'home +1' && document.activeElement.closest('article').innerText.startsWith('{FINAL}')")
    keys(browser, Keys.SPACE)
    browser.wait("keyboard: Space opens the dialog", lambda: is_ready(browser) and f"{home}:0 → {home + 1}:0, {FINAL}" in dialog(browser))
    tab_until(browser, "return document.activeElement.value === 'yes'")
    keys(browser, Keys.SPACE)
    until("the goal by keyboard", lambda: shows(FINAL, home + 1))
    check(True, "keyboard: Tab and Space alone bring a goal to all phones")


def tab_until(browser, script, limit=60):
    for _ in range(limit):
        if browser.run(script):
            return
        keys(browser, Keys.TAB)
    raise TimeoutError(script)


LAYOUT = {"contentStateSchema": {"home": "int", "away": "int", "minute": "int", "kickOff": "date.unixSeconds?", "phase": "string?"},
          "attributesSchema": {"cup": "string", "homeName": "string", "awayName": "string"},
          "layout": {"title": "cup", "sides": [{"score": "home", "name": "homeName"}, {"score": "away", "name": "awayName"}], "progress": {"field": "minute", "end": 90},
                     "countdown": "kickOff", "lines": ["phase"], "steps": [{"label": "no goal", "field": "home", "add": -1}]}}


def step_preview(browser):
    path = f"/v1/activity-types/{TYPE}"
    before = api("GET", path)
    api("PUT", path, LAYOUT)
    try:
        layout_of_type(browser)
    finally:
        api("PUT", path, {name: value for name, value in before.items() if name not in ("name", "v", "app")})
        browser.driver.refresh()


def layout_of_type(browser):
    browser.open(f"compose?event=start&type={TYPE}&at={time.time_ns()}")
    browser.driver.refresh()
    browser.wait("preview: the form has the fields of the schema", lambda: browser.field("attributes.cup").is_displayed())
    for path, value in [("attributes.cup", "Cup final"), ("attributes.homeName", "Larks"), ("attributes.awayName", "Terns"), ("contentState.home", 2), ("contentState.away", 1),
                        ("contentState.minute", 45), ("contentState.phase", "half time")]:
        put(browser, path, value)
    drawn = lambda: " ".join(browser.find(".phone").text.split())  # noqa: E731
    browser.wait("preview: the lock screen shows title, sides, scores and lines", lambda: "Cup final starts Larks 2:1 Terns phase half time" in drawn())
    check(browser.run("const bar = document.querySelector('.phone progress'); return bar.value / bar.max") == 0.5, "preview: the progress is half")
    islands = browser.run("return [...document.querySelectorAll('.island')].map((one) => one.innerText.replace(/\\s+/g, ' ').trim())")
    check(islands == ["2 1", "2:1", "Larks 2:1 Terns"], f"preview: the Dynamic Island is compact, minimal and expanded: {islands}")
    browser.picture("safety-preview")
    browser.run("const field = document.querySelector('[data-path=\"contentState.kickOff\"]'); field.value = '2099-01-01T00:00'; field.dispatchEvent(new Event('input', {bubbles: true}))")
    browser.wait("preview: a countdown runs to a date of the state", lambda: re.search(r"\d+:\d\d:\d\d", browser.find(".phone .countdown").text) is not None)
    browser.run("const field = document.querySelector('[data-path=staleDate]'); field.value = '2020-01-01T00:00'; field.dispatchEvent(new Event('input', {bubbles: true}))")
    browser.wait("preview: an outdated activity looks so", lambda: "outdated" in drawn() and browser.find(".phone .activity.over").is_displayed())
    browser.click(browser.find("input[name=event][value=end]"))
    browser.wait("preview: an ended activity looks so", lambda: "ended" in drawn() and browser.find(".phone .activity.over").is_displayed())
    browser.open("")
    browser.driver.refresh()
    browser.wait("preview: the card has the buttons of the layout", lambda: "no goal" in card(browser, FINAL).text)


def step_demonstration_layout(browser):
    name = next(one["groupId"] for one in api("GET", "/v1/groups?state=live&limit=100")["items"] if re.fullmatch(r"match-\d+", one["groupId"]))
    browser.open("")
    browser.wait("demonstration: the card names the teams", lambda: "Larks" in card(browser, name).text and "Terns" in card(browser, name).text)
    browser.open(f"compose?event=update&group={name}&type={TYPE}&at={time.time_ns()}")
    browser.wait("demonstration: the preview has the competition, the teams, the minute and the phase",
                 lambda: "Cup final now Larks" in " ".join(browser.find(".phone").text.split()) and "1st half" in browser.find(".phone").text
                 and browser.run("return document.querySelector('.phone progress').value") == 23)
    browser.picture("safety-demonstration")


def step_13_small_screen(_):
    browser = Browser(360, 740, dark=True)
    browser.log_in("ADMIN")
    browser.open("sends")
    browser.find("tbody tr")
    hidden = browser.run("return [...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length")
    seen = browser.run("""const rows = [...document.querySelectorAll('tbody tr')].slice(0, 5);
        return rows.every((row) => [...row.querySelectorAll('td[data-title=Group]')].every((cell) => { const box = cell.getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth; }))""")
    check(hidden == 0 and seen, "13: at 360 px each row shows its group")
    browser.picture("safety-13-sends")
    open_update(browser, SECOND, 8)
    press_send(browser)
    browser.wait("13: the dialog counts", lambda: is_ready(browser))
    seen = browser.run("""return ['dialog h2', 'dialog button[value=no]', 'dialog button[value=yes]'].every((name) => {
        const box = document.querySelector(name).getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth; })""")
    check(seen, "13: the result of the trial and both buttons are on the screen")
    large = browser.run("return [...document.querySelectorAll('dialog .actions button')].every((one) => one.getBoundingClientRect().height >= 44)")
    check(large, "13: the buttons are large enough for a thumb")
    shot = browser.command("Page.captureScreenshot")
    with open(f"{PICTURES}/safety-13-dialog.png", "wb") as file:
        file.write(base64.b64decode(shot["data"]))
    keys(browser, Keys.ESCAPE)
    # A zoom of 200 % on a laptop is a screen of half its size.
    browser.command("Emulation.setDeviceMetricsOverride", width=640, height=400, deviceScaleFactor=2, mobile=False)
    press_send(browser)
    browser.wait("13: at a zoom of 200 % the dialog counts", lambda: is_ready(browser))
    seen = browser.run("const box = document.querySelector('dialog button[value=yes]').getBoundingClientRect(); return box.bottom <= innerHeight && document.documentElement.scrollWidth <= innerWidth")
    check(seen, "13: at a zoom of 200 % the buttons are on the screen, and nothing is cut off")
    check(not browser.errors(), f"13: no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()


def main():
    began = time.time()
    for name in [FINAL, SECOND]:
        send("start", name)
        until(f"the start of {name}", lambda name=name: group(name)["running"] == 944)
    send("update", FINAL, 1)
    send("update", SECOND, 1)
    until("the first goals", lambda: shows(FINAL, 1) and shows(SECOND, 1))
    browser = Browser()
    browser.log_in("ADMIN")
    for name, step in sorted(((name, step) for name, step in globals().items() if name.startswith("step_")),
                             key=lambda one: int("".join(filter(str.isdigit, one[0])) or 99)):
        # Further arguments select steps by a part of their names.
        if len(sys.argv) > 2 and not any(part in name for part in sys.argv[2:]):
            continue
        print(f"     {name.replace('_', ' ')}", flush=True)
        PROXY.fault = None
        try:
            step(browser)
        except Exception as error:  # noqa: BLE001 the other steps still run
            check(False, f"{name}: {error!r}"[:500])
            browser.picture(f"failed-{name}")
    check(not browser.errors(), f"no error in the browser's console {browser.errors()[:3] or ''}")
    browser.close()
    # A phone shows few activities at a time. A further run on the same demonstration needs the places.
    for name in [FINAL, SECOND]:
        send("end", name, dismissalDate={"offset": 0})
    print(f"flotilla: {len(failures)} failed, after {time.time() - began:.0f} s")
    raise SystemExit(1 if failures else 0)


main()
