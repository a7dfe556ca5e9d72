"""Makes the mistakes of a busy match night in the console, in headless Chromium. None of them may change a lock screen."""
import base64
import contextlib
import os
import re
import signal
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
from console_phones import NOT_ALLOWED, TYPE, answering, control, on_phones, progress_of, report, start_token, until, until_outcome, update_tokens
from console_proxy import Proxy

console_browser.LIMIT = 20
# The proxy loses answers, and a look-up may find no send.
console_browser.REFUSED += ("status of 404", "ERR_EMPTY_RESPONSE")
# A phone that was started for a group is not started again, so each run has its own groups.
RUN = time.strftime("%H%M%S")
FINAL, SECOND, UNKNOWN = f"cup-final-{RUN}", f"derby-{RUN}", f"cup-fnal-{RUN}"
# Phones that report start tokens, and that the simulated APNs does not know. It accepts a start for them that nobody allows.
GHOSTS, NOT_SHOWN = f"ghosts-{RUN}", f"not-shown-{RUN}"
# The simulated phones with an iOS that can be started.
PHONES = 944
ADDRESS = os.environ["GATEWAY"].removeprefix("http://").split(":")
PROXY = Proxy(ADDRESS[0], int(ADDRESS[1]), os.environ.get("CONSOLE_FILES"))
console_browser.CONSOLE = PROXY.address


def send(event, group, home=0, away=0, **fields):
    body = {"event": event, "groupId": group, "contentState": {"home": home, "away": away}, **fields}
    if event == "start":
        body = {"audience": "everyone", **body, "attributesType": TYPE, "attributes": {"home": "Larks", "away": "Terns"}, "alert": {"title": "Kick-off"}}
    return api("POST", "/v1/sends", body)


def group(name):
    try:
        return api("GET", f"/v1/groups/{name}")
    except urllib.error.HTTPError:
        return {"running": 0, "onNewest": 0, "newest": {"contentState": {}}}


def shows(name, home, away=0):
    state = group(name)
    return state["newest"]["contentState"] == {"home": home, "away": away} and state["running"] == state["onNewest"] > 0


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


def step_2_two_tabs(browser):
    """Two tabs have the same card at the same score, and both add a goal."""
    at_score(FINAL, 1)
    before = PROXY.sends()
    first = browser.driver.current_window_handle
    for open_tab in [lambda: None, lambda: browser.driver.switch_to.new_window("tab")]:
        open_tab()
        browser.open("")
        browser.wait("2: the card has the score", lambda: "1:0" in card(browser, FINAL).text)
        press_step(browser, FINAL, "home +1")
        browser.wait("2: the dialog of this tab is ready", lambda: is_ready(browser) and "1:0 → 2:0" in dialog(browser))
    browser.click(browser.find("dialog button[value=yes]"))
    until("the goal of the second tab", lambda: shows(FINAL, 2))
    browser.driver.close()
    browser.driver.switch_to.window(first)
    browser.click(browser.find("dialog button[value=yes]"))
    browser.wait("2: the goal of the other tab is refused", lambda: "has a newer state than this card had" in dialog(browser))
    keys(browser, Keys.ESCAPE)
    check(shows(FINAL, 2) and PROXY.sends() == before + 2, "2: two tabs make one goal of one goal")


def step_2_ended_meanwhile(browser):
    """A group ends while the dialog for its next goal is open."""
    short = f"short-{RUN}"
    user = some_user()
    send("start", short, audience={"users": [user]})
    until("the start", lambda: group(short)["running"] == 1)
    browser.open("")
    browser.wait("2: the card of the short match is there", lambda: "home +1" in card(browser, short).text)
    press_step(browser, short, "home +1")
    browser.wait("2: its dialog is ready", lambda: is_ready(browser))
    send("end", short, dismissalDate={"offset": 0})
    until("the end", lambda: group(short)["state"] == "ended")
    browser.click(browser.find("dialog button[value=yes]"))
    browser.wait("2: a goal for a group that has ended meanwhile is refused", lambda: f"{short} has ended" in dialog(browser))
    keys(browser, Keys.ESCAPE)
    check(group(short)["newest"]["contentState"] == {"home": 0, "away": 0}, "2: the ended group keeps its state")


def step_2_form_without_a_version(browser):
    """The group of a form is typed and sent at once, before the page has read its state. Then the feed sends a goal."""
    at_score(FINAL, 1)
    browser.open(f"compose?event=update&type={TYPE}&at={time.time_ns()}")
    browser.wait("2: an empty update is open", lambda: browser.field("contentState.home").is_displayed())
    put(browser, "contentState.home", 1)
    put(browser, "contentState.away", 1)
    # No event of the field reaches the page before the button is pressed.
    browser.run("document.querySelector('[data-path=groupId]').value = arguments[0]", FINAL)
    press_send(browser)
    browser.wait("2: the dialog compares with the state that it has read", lambda: is_ready(browser) and "1:0 → 1:1" in dialog(browser))
    send("update", FINAL, 2)
    until("the feed's goal", lambda: shows(FINAL, 2))
    browser.click(browser.find("dialog button[value=yes]"))
    browser.wait("2: a form without a version is refused too, if its group moves on", lambda: "has a newer state" in dialog(browser))
    keys(browser, Keys.ESCAPE)
    check(shows(FINAL, 2), "2: the feed's goal stays")


def step_2_group_changed_while_read(browser):
    """The reader chooses another group while the state of the first one is on its way."""
    at_score(FINAL, 3)
    at_score(SECOND, 1)
    browser.open(f"compose?event=update&at={time.time_ns()}")
    browser.wait("2: an update is open", lambda: browser.field("groupId").is_displayed())
    # The state of the first group comes before its type.
    with PROXY.slow(f"/v1/activity-types/{TYPE}", 3):
        for name in [FINAL, SECOND]:
            time.sleep(1)
            browser.run("""const field = document.querySelector('[data-path=groupId]'); field.value = arguments[0];
                field.dispatchEvent(new Event('input', {bubbles: true})); field.dispatchEvent(new Event('change', {bubbles: true}))""", name)
        time.sleep(5)
    press_send(browser)
    browser.wait("2: the form has the state of its own group", lambda: is_ready(browser) and f"1:0, unchanged, {SECOND}" in dialog(browser))
    keys(browser, Keys.ESCAPE)


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
    press_send(browser)
    browser.wait("4: the dialog is open once more", lambda: is_ready(browser))
    browser.driver.back()
    browser.wait("4: the back button closes the dialog", lambda: dialog(browser) == "")
    browser.driver.forward()
    browser.wait("4: the form is as it was", lambda: browser.field("contentState.home").get_attribute("value") == "6")
    check(dialog(browser) == "" and PROXY.sends() == before, "4: the back button sends nothing")
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
    users = report(GHOSTS, PHONES)
    with answering({"match": {"events": ["start"]}, "answer": NOT_ALLOWED}):
        accepted = send("start", NOT_SHOWN, audience={"users": users})
        until_outcome(accepted, accepted=PHONES)
    # APNs no longer knows these phones. Later sends to everyone go without them.
    with answering({"match": {"events": ["start"]}, "answer": {"reason": "Unregistered"}}):
        rejected = send("start", f"gone-{RUN}", audience={"users": users})
        until_outcome(rejected, rejected=PHONES)
    browser.open(f"sends/{rejected['sendId']}?at={rejected['acceptedAt']}")
    browser.wait(f"5: a send that APNs rejected {PHONES} times has failed", lambda: verdict(browser) == ["tag bad", "failed"])
    check(f"APNs rejected {PHONES} pushes and accepted none" in browser.text(), "5: the sentence says so")
    browser.picture("safety-5-rejected")
    browser.open("")
    browser.wait("5: the mistyped group is not live on Now", lambda: f"{UNKNOWN}\nno phones" in browser.text())
    check("home\n1:0\naway" in card(browser, UNKNOWN).text, "5: a card without an activity type is drawn from the state")


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


def step_6_nothing_moves(browser):
    """A message, a button that comes, and figures that stop must not move a card under the pointer."""
    at_score(FINAL, 1)
    at_score(SECOND, 1)
    for width, height in [(1280, 900), (360, 740)]:
        browser.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        browser.open("")
        browser.driver.refresh()
        places = lambda: browser.run("return [...document.querySelectorAll('article button.step')].map((one) => { const box = one.getBoundingClientRect(); return [Math.round(box.left), Math.round(box.top + scrollY)] })")  # noqa: E731
        browser.wait(f"6: at {width} px the cards have their buttons", lambda: "home +1" in card(browser, FINAL).text and "1:0" in card(browser, SECOND).text)
        time.sleep(6)
        before = places()
        press_step(browser, FINAL, "away +1")
        browser.wait(f"6: at {width} px the dialog is ready", lambda: is_ready(browser))
        browser.click(browser.find("dialog button[value=yes]"))
        browser.wait(f"6: at {width} px the card offers to put back", lambda: "put back" in card(browser, FINAL).text)
        check(places() == before, f"6: at {width} px the button to put back and its message move nothing")
        PROXY.fault = "down"
        browser.wait(f"6: at {width} px the page says that its figures are outdated", lambda: "does not answer" in browser.text())
        check(places() == before, f"6: at {width} px outdated figures move nothing")
        PROXY.fault = None
        browser.wait(f"6: at {width} px the figures go on", lambda: "does not answer" not in browser.text())
        if width < 500:
            until("the end of the minute", lambda: "put back" not in card(browser, FINAL).text, limit=70)
            check(places() == before, "6: the button to put back goes after a minute, and moves nothing")
        at_score(FINAL, 1)
    browser.resize(browser.height)


def step_7_figures(browser):
    for _ in range(4):
        send("update", SECOND, 4)
    # More sends than a list of the newest ones has. They reach no phone.
    for _ in range(55):
        send("update", UNKNOWN, 1)
    browser.open("")
    shown = lambda: re.search(r"Pushes per second\n([\d.,]+)", browser.text())[1]  # noqa: E731
    browser.wait("7: pushes a second are those of all sends of the last full minute", lambda: shown() == last_minute() and float(shown().replace(",", "")) > 10)
    browser.open("")
    browser.wait("7: Now has three charts of the last 15 minutes", lambda: browser.run("return document.querySelectorAll('main svg.chart.small').length") == 3)
    browser.wait("7: the charts show pushes", lambda: browser.run("return document.querySelectorAll('main svg.chart.small rect.mark').length") > 0)
    words = lambda: " ".join(browser.text().split())  # noqa: E731
    total = lambda: sum(one.get("accepted", 0) for one in api("GET", "/v1/series?range=15m")["items"])  # noqa: E731
    browser.wait("7: the legend has the accepted pushes of insight's series", lambda: f"accepted {total():,}" in words())
    browser.wait("7: and the newest half and 99 % of the latencies", lambda: re.search(r"half within [\d.]+ m?s 99 % within [\d.]+ m?s", words()) is not None)
    pushed = total()
    check(pushed >= 944 * 4, f"7: the series has all pushes of the last minutes: {pushed}")
    browser.click(browser.find("input[name=series-range][value='24h']"))
    browser.wait("7: Now has three charts of the last 24 hours", lambda: "one column for each 10 min" in browser.text() and browser.run("return document.querySelectorAll('main svg.chart.small').length") == 3)
    browser.picture("safety-7-charts")
    browser.open(f"groups/{NOT_SHOWN}")
    browser.wait("7: accepted pushes are not phones that show them", lambda: f"APNs accepted the newest state for {PHONES} phones, and no phone reports" in browser.text())
    check(f"{PHONES} of {PHONES}" not in browser.text(), f"7: it does not say {PHONES} of {PHONES}")
    started = api("GET", f"/v1/sends?group={NOT_SHOWN}&event=start")["items"][0]
    browser.open(f"sends/{started['sendId']}?at={started['acceptedAt']}")
    browser.wait("7: a start that no phone reports is waiting for Allow", lambda: verdict(browser)[1] == "waiting for Allow")
    with answering({"match": {"events": ["start"], "times": 44}, "answer": NOT_ALLOWED}):
        mostly = f"friendly-{RUN}"
        started = send("start", mostly)
        until("the start", lambda: group(mostly)["running"] == PHONES - 44)
    browser.open(f"sends/{started['sendId']}?at={started['acceptedAt']}")
    browser.wait("7: a start that most phones report is done, and says how many wait", lambda: verdict(browser)[1] == "done" and "44 phones report no running activity" in browser.text())
    send("end", mostly, dismissalDate={"offset": 0})
    until("the end", lambda: not on_phones(mostly))


def last_minute():
    """Returns the pushes a second of the last full minute, as the page must write them."""
    series = api("GET", "/v1/series?range=15m")
    end = series["to"] - series["periodMilliseconds"]
    pushed = sum(one.get(name, 0) for one in series["items"] if end - 60_000 <= one["at"] < end for name in ["accepted", "rejected", "unknown"])
    return f"{pushed / 60:.1f}" if 0 < pushed < 600 else f"{int(pushed / 60 + 0.5):,}"


def step_7_behind(browser):
    """APNs refuses half of the pushes for a while, and the feed sends on."""
    browser.open("")
    score = 5
    words = f"phones of {SECOND} are behind its newest state, for"
    with answering({"match": {"events": ["update"], "share": 0.5}, "answer": {"reason": "TooManyRequests"}}):
        end = time.time() + 60
        while time.time() < end and words not in browser.text():
            send("update", SECOND, score)
            score += 1
            time.sleep(3)
    browser.wait("7: the newest sends do not hide phones that stay behind", lambda: words in browser.text())
    browser.picture("safety-7-behind")
    at_score(SECOND, 4)
    browser.wait("7: the problem goes when the phones have the newest state", lambda: words not in browser.text())


def some_user():
    """Returns the user of a simulated phone that has room for two more activities and can be started."""
    phone = next(one["installation"] for one in control("GET", "/v1/phones?limit=1000")["phones"] if one["activities"] == 3 and one["canBeReached"])
    return control("GET", f"/v1/phones/{phone}")["user"]


def step_8_person(browser):
    """A phone with five activities. APNs rejects the tokens of two of them, and a newer state replaces an update of one."""
    user = some_user()
    phone = api("GET", f"/v1/users/{user}")["installations"][0]["installationId"]
    names = [f"order-{number}-{RUN}" for number in [1, 2]]
    for name in names:
        send("start", name, audience={"users": [user]})
    tokens = lambda: update_tokens(phone)  # noqa: E731
    until("the update tokens", lambda: all(name in tokens() for name in names) and all(group(name)["running"] == 1 for name in names))
    two = [tokens()[name] for name in names]
    # One push of an activity is in flight at a time, so a third state replaces the second one.
    with answering({"match": {"tokens": two}, "delay": {"fixedMilliseconds": 2000}}):
        sent = [send("update", names[0], home) for home in [1, 2, 3]]
        until_outcome(sent[1], superseded=1)
        until_outcome(sent[2], accepted=1)
    REPLACED.append(sent[1])
    with answering({"match": {"tokens": two}, "answer": {"reason": "Unregistered"}}):
        for name in names:
            until_outcome(send("update", name, 5), rejected=1)
    running = len([one for one in api("GET", f"/v1/users/{user}")["installations"][0]["activities"] if one["state"] == "active"])
    browser.open(f"people/user/{user}")
    browser.wait("8: the headline counts the activities", lambda: f"2 of {running} running activities need attention; {running - 2} are as they should be" in browser.find(".why").text)
    check(running == 5 and "can reach it" not in browser.find(".why > p").text, f"8: one of {running} activities says nothing about the others")
    check("APNs answered newer_version" not in browser.text() and "A newer state replaced it" in browser.text(), "8: a superseded push has no answer of APNs")
    browser.picture("safety-8-person")


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


def step_9_figures_away(browser):
    """Insight gives no answer while a goal is composed. Everything else works."""
    at_score(FINAL, 2)
    PROXY.lost_paths = {"/v1/groups", f"/v1/groups/{FINAL}"}
    try:
        before = PROXY.sends()
        browser.open(f"compose?event=update&group={FINAL}&type={TYPE}&at={time.time_ns()}")
        browser.wait("9: without insight the form can be used", lambda: browser.field("contentState.home").is_displayed())
        put(browser, "contentState.home", 3)
        put(browser, "contentState.away", 0)
        press_send(browser)
        browser.wait("9: the dialog says that it cannot compare", lambda: f"The newest state of {FINAL} is unknown" in dialog(browser) and f": {PHONES} phones, now" in dialog(browser))
        check(not is_ready(browser), "9: a send without the comparison needs a box")
        keys(browser, Keys.ESCAPE)
        check(PROXY.sends() == before and shows(FINAL, 2), "9: nothing is sent")
    finally:
        PROXY.lost_paths = set()


def step_9_killed_gateway(browser):
    """Kills a second gateway, which has a session of the first one, in the middle of a send."""
    first = PROXY.target
    port = free_port()
    with second_process("gateway", "--gateway-listen", f"127.0.0.1:{port}") as gateway:
        until("the second gateway and its way to insight", lambda: is_serving(port))
        PROXY.target, PROXY.fault, PROXY.kill = ("127.0.0.1", port), "killed", gateway.kill
        open_update(browser, SECOND, 8)
        before = PROXY.sends()
        press_send(browser)
        browser.wait("9: a second gateway shows the dialog", lambda: is_ready(browser))
        browser.click(browser.find("dialog button[value=yes]"))
        browser.wait("9: with a killed gateway too, the send is looked up", lambda: "looks up whether it is stored" in dialog(browser))
        PROXY.fault = None
        PROXY.target = first
        browser.wait("9: another gateway knows that it was not stored", lambda: "nothing was sent" in browser.text())
        check(browser.field("contentState.home").get_attribute("value") == "8", "9: the form survives the killed gateway")
        check(PROXY.sends() == before + 1, "9: the console does not send again by itself")


def is_serving(port):
    try:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/groups", headers={"Authorization": "Bearer " + os.environ["ADMIN"]})
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def step_10_wrong_clock(_):
    """The clock of the browser is ten minutes late or early."""
    for minutes in [-10, 10]:
        browser = Browser()
        browser.command("Page.addScriptToEvaluateOnNewDocument", source=f"""const Right = Date; const ahead = {minutes * 60_000};
            Date = class extends Right {{ constructor(...given) {{ if (given.length) super(...given); else super(Right.now() + ahead); }} static now() {{ return Right.now() + ahead; }} }};""")
        browser.log_in("ADMIN")
        if minutes < 0:
            before = PROXY.sends()
            open_update(browser, FINAL, 9)
            browser.click(browser.find("input[name=when][value=at]"))
            browser.run("""const field = document.querySelector('[data-path=when]'); const due = new Date(Date.now() + 300_000);
                field.value = new Date(due.getTime() - due.getTimezoneOffset() * 60_000).toISOString().slice(0, 19); field.dispatchEvent(new Event('input', {bubbles: true}))""")
            press_send(browser)
            browser.wait("10: a time that has passed for the server is refused at its field", lambda: browser.field("when").get_attribute("aria-invalid") == "true")
            check(dialog(browser) == "" and PROXY.sends() == before, "10: it is not sent at once instead")
        browser.open("")
        home = group(FINAL)["newest"]["contentState"]["home"]
        browser.wait("10: the card has its buttons", lambda: f"{home}:0" in card(browser, FINAL).text and "home +1" in card(browser, FINAL).text)
        press_step(browser, FINAL, "home +1")
        browser.wait("10: the dialog is ready", lambda: is_ready(browser))
        browser.click(browser.find("dialog button[value=yes]"))
        until("the goal", lambda: shows(FINAL, home + 1))
        browser.wait(f"10: with a clock of {minutes:+} minutes it can be put back", lambda: f"put back {home}:0" in card(browser, FINAL).text)
        # The two groups of step 8 are behind for real.
        listed = lambda: set(re.findall(r"of (\S+) (?:is|are) behind its newest state", browser.text()))  # noqa: E731
        browser.wait(f"10: with a clock of {minutes:+} minutes Now lists the groups that are behind, and no other", lambda: listed() == {one["groupId"] for one in api("GET", "/v1/series?range=15m")["behind"]})
        browser.close()


def step_10_form_survives(browser):
    at_score(SECOND, 7)
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
    before = PROXY.sends()
    press_send(browser)
    browser.wait("10: the dialog is open", lambda: is_ready(browser))
    api("DELETE", f"/v1/keys/{made['id']}")
    browser.wait("10: the page says that its key is revoked", lambda: "revoked" in browser.run("return document.body.innerText"))
    check(dialog(browser) == "" and PROXY.sends() == before, "10: the end of the session closes the dialog, and nothing is sent")
    browser.find("input[name=key]").send_keys(os.environ["ADMIN"], Keys.ENTER)
    browser.wait("10: another key of the app goes on with the form", lambda: browser.field("alert.title").get_attribute("value") == "Goal of the night shift")
    browser.close()


def step_11_compose_update(browser):
    at_score(SECOND, 7)
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
    name = f"colors-{RUN}"
    users = report(name, 4)
    token = lambda number: {"match": {"tokens": [start_token(name, number)]}}  # noqa: E731
    with answering({**token(0), "answer": NOT_ALLOWED}, {**token(1), "answer": {"reason": "Unregistered"}},
                   {**token(2), "silence": {"processed": False}}, {**token(3), "answer": {"status": 503, "body": ""}}):
        started = send("start", name, audience={"users": users}, deadline=int(time.time()) + 8)
        until_outcome(started, accepted=1, rejected=1, unknown=1, expired=1)
    # These phones would get later sends to everyone.
    for user in users:
        api("DELETE", f"/v1/users/{user}")
    of_sends = {}
    for sent in [started, *REPLACED]:
        browser.open(f"sends/{sent['sendId']}?at={sent['acceptedAt']}")
        browser.wait("12: the bar of a send has a legend", lambda: len(browser.run(legend)) == len([one for one in progress_of(sent)["report"] if one in OUTCOMES and progress_of(sent)["report"][one]]))
        of_sends |= browser.run(legend)
    browser.picture("safety-12-outcomes")
    browser.open(f"groups/{FINAL}")
    browser.wait("12: the chart of a group has a legend", lambda: len(browser.run(legend)) == 5)
    of_group = browser.run(legend)
    check(set(of_sends) == set(OUTCOMES) and of_sends == of_group and len(set(of_sends.values())) == 5, f"12: each outcome has one color everywhere: {of_sends} {of_group}")
    browser.open("")
    failed = lambda: {reason: number for reason, number in api("GET", "/v1/series?range=15m")["failuresOfLastHour"].items() if reason != "Unregistered"}  # noqa: E731
    listed = lambda: {reason: int(number.replace(",", "")) for number, reason in re.findall(r"([\d,]+) push(?:es)? of the last hour failed with (\w+)\.", browser.text())}  # noqa: E731
    browser.wait("12: Now lists all failures of the last hour by reason", lambda: listed() == failed() and {"expired", "unknown"} <= set(listed()))


# The outcomes of a push.
OUTCOMES = ["accepted", "rejected", "unknown", "expired", "superseded"]
# The send that another one has replaced, from step 8.
REPLACED = []


def step_14_half_known(browser):
    admin = free_port()
    with second_process("fan-out", admin=admin) as process:
        sent = half_counted(process, admin)
        check(sent is not None, "14: a process of two stands still, and has lanes of a send")
        browser.open(f"sends/{sent['sendId']}?at={sent['acceptedAt']}")
        browser.wait("14: a send that is not counted yet says so", lambda: re.search(r"counting: \d+ of 12 lanes", browser.text()) is not None)
        said, progress = browser.text(), progress_of(sent)
        if progress["isComplete"]:
            check(False, "14: the send was complete before the page was read")
        figures = re.search(r"Targeted\n(.*)\n", said)[1]
        check(figures == "–" and not re.search("Pending|accepted by APNs|By system|targeted", said), f"14: it shows no half-known figures: {figures}, while {progress['targeted']} are counted")
        counts = re.findall(r"^(?:Pushed|Accepted|Rejected)\n[\d,]+\n(.*)$", said, re.MULTILINE)
        check(counts == ["so far"] * 3, f"14: what was pushed is marked as so far: {counts}")
        browser.picture("safety-14-counting")
        process.send_signal(signal.SIGCONT)
        browser.wait("14: all figures come when the lanes are counted", lambda: f"Targeted\n{PHONES}" in browser.text() and verdict(browser)[1] == "done")
    later = send("update", SECOND, 4, when={"offset": 600})
    browser.open(f"sends/{later['sendId']}?at={later['acceptedAt']}")
    browser.wait("14: a scheduled send waits", lambda: "It waits for its time" in browser.text())
    check("0 of 1" not in browser.text(), "14: it has no bar of pushes")
    api("DELETE", f"/v1/sends/{later['sendId']}")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def second_process(stage, *flags, admin=0):
    """Runs one more process of a stage, with a data directory of its own, and kills it."""
    process = subprocess.Popen(
        [os.environ["FLOTILLA"], "run", stage, "--data", f"{os.environ['DATA']}/second-{stage}", "--kafka-brokers", os.environ["BROKER"],
         "--admin-listen", f"127.0.0.1:{admin}", "--tokens-sealing-keys-file", f"{os.environ['DATA']}/up/sealing-keys", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def has_lanes(admin):
    """Whether the process at this address is ready and has partitions."""
    def read(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}{path}", timeout=5) as answer:
            return answer.read().decode()

    assigned = re.findall(r"^flotilla_kafka_assigned_partitions\{.*\} ([\d.]+)$", read("/metrics"), re.MULTILINE)
    return sum(map(float, assigned)) > 0 and read("/readyz") is not None


def half_counted(process, admin):
    """Stops a fan-out process that has lanes, and returns a send that it has not counted."""
    for _ in range(5):
        until("lanes of the second fan-out process", lambda: has_lanes(admin))
        process.send_signal(signal.SIGSTOP)
        # The planner of a group can be in the process that stands still, so there are two.
        for name in [FINAL, SECOND]:
            sent = send("update", name, 4)
            end = time.time() + 3
            while time.time() < end:
                progress = progress_of(sent)
                if 0 < progress.get("lanesDone", 0) < progress.get("lanesExpected", 0):
                    return sent
                time.sleep(0.1)
        process.send_signal(signal.SIGCONT)
    return None


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
    phones = lambda: next((one["activities"] for one in on_phones(FINAL) if one["contentState"] == {"home": 2, "away": 0}), 0)  # noqa: E731
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
    touch(browser, browser.run("""const box = (typeof arguments[0] === 'string' ? document.querySelector(arguments[0]) : arguments[0]).getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2]""", selector))


def touch(browser, place):
    x, y = place
    browser.command("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    browser.command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def burst_of_taps(browser, button):
    """A thumb taps many times within half a second, where the button to send appears."""
    before = PROXY.sends()
    tap(browser, button)
    browser.wait("one hand: the dialog is ready", lambda: is_ready(browser))
    place = browser.run("const box = document.querySelector('dialog button[value=yes]').getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]")
    keys(browser, Keys.ESCAPE)
    browser.run("arguments[0].click()", button)
    began = time.time()
    while time.time() < began + 0.5:
        touch(browser, place)
    check(dialog(browser) != "" and PROXY.sends() == before, "one hand: the second tap of a double tap does not send")
    keys(browser, Keys.ESCAPE)


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
    burst_of_taps(browser, button)
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


@contextlib.contextmanager
def type_with(browser, **fields):
    """Changes the activity type for a while."""
    path = f"/v1/activity-types/{TYPE}"
    before = {name: value for name, value in api("GET", path).items() if name not in ("name", "v", "app")}
    api("PUT", path, {**before, **fields})
    try:
        yield
    finally:
        api("PUT", path, before)
        browser.driver.refresh()


def step_11_private_group(browser):
    """A group that belongs to one user, such as an order: card, dialog and form are about this user."""
    name, user = f"private-{RUN}", some_user()
    of_user = lambda: api("GET", f"/v1/groups/{name}?user={user}")  # noqa: E731
    with type_with(browser, private=True):
        send("start", name, audience={"users": [user]})
        browser.open("")
        browser.driver.refresh()
        browser.wait("11: a private group has a card", lambda: "home +1" in card(browser, name).text)
        until("the phone", lambda: of_user()["running"] == 1)
        press_step(browser, name, "home +1")
        browser.wait("11: its dialog knows the group of this user", lambda: is_ready(browser) and f"0:0 → 1:0, {name}, user {user}: 1 phone, now" in dialog(browser))
        browser.click(browser.find("dialog button[value=yes]"))
        until("the goal of the user", lambda: of_user()["newest"]["contentState"]["home"] == 1)
        browser.wait("11: it can be put back", lambda: "put back 0:0" in card(browser, name).text)
        browser.click(card(browser, name).find_element(By.XPATH, ".//a[normalize-space(.)='Update']"))
        browser.wait("11: its form is filled in for the user", lambda: browser.field("audience.users").get_attribute("value") == user and browser.field("contentState.home").get_attribute("value") == "1")
        put(browser, "contentState.away", 1)
        press_send(browser)
        browser.wait("11: the dialog of the form knows it too", lambda: is_ready(browser) and f"1:0 → 1:1, {name}, user {user}: 1 phone, now" in dialog(browser))
        send("update", name, 2, audience={"users": [user]})
        until("the feed's goal", lambda: of_user()["newest"]["contentState"]["home"] == 2)
        browser.click(browser.find("dialog button[value=yes]"))
        browser.wait("11: a form that is older than the private group is refused", lambda: "has a newer state" in dialog(browser))
        keys(browser, Keys.ESCAPE)
        send("end", name, audience={"users": [user]}, dismissalDate={"offset": 0})
        until("the end", lambda: of_user()["state"] == "ended")


def step_preview(browser):
    with type_with(browser, **LAYOUT):
        layout_of_type(browser)


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
