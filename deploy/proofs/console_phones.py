"""The simulated APNs of a demonstration and its phones, for the proofs of the console."""
import contextlib
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request

from console_browser import api

TYPE = "MatchAttributes"
# The reports of one call.
REPORTS_MAX = 200


def control(method, path, body=None):
    """Calls the control API of the simulator."""
    with open(os.environ["LOG"]) as log:
        address = re.search(r'"control":"([0-9.:]+)"', log.read()).group(1)
    request = urllib.request.Request(f"http://{address}{path}", method=method, data=None if body is None else json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        text = answer.read()
    return json.loads(text) if text else None


@contextlib.contextmanager
def answering(*rules):
    """Lets the simulated APNs follow these rules. Without them it accepts each valid push."""
    control("PUT", "/v1/script", {"rules": list(rules)})
    try:
        yield
    finally:
        control("DELETE", "/v1/script")


# APNs accepts a start, and the phone does not show it: its owner has not allowed it.
NOT_ALLOWED = {"status": 200, "body": ""}


def on_phones(name):
    """Returns how many lock screens show which state of a group, as the simulated phones say: `[{contentState, activities}]`."""
    try:
        return control("GET", f"/v1/groups/{name}")["shown"]
    except urllib.error.HTTPError:
        # No phone shows the group.
        return []


def until(sentence, fact, limit=60):
    end = time.time() + limit
    while time.time() < end:
        try:
            if fact():
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise TimeoutError(sentence)


def start_token(name, number):
    return f"{number:032x}{name.encode().hex():0>32}"[:96]


def report(name, count):
    """Reports start tokens of phones that the simulated APNs does not know. Returns the ids of their users."""
    reports = [{"installationId": f"{name}-{number}", "userId": f"user-{name}-{number}", "environment": "production", "kind": "startToken",
                "attributesType": TYPE, "token": start_token(name, number), "tags": [name]} for number in range(count)]
    for first in range(0, count, REPORTS_MAX):
        api("POST", "/v1/reports", reports[first:first + REPORTS_MAX])
    users = [one["userId"] for one in reports]
    until("the reports", lambda: all(api("GET", f"/v1/users/{user}")["installations"] for user in users[REPORTS_MAX - 1::REPORTS_MAX] + users[-1:]))
    return users


def progress_of(sent):
    return api("GET", f"/v1/sends/{sent['sendId']}?at={sent['acceptedAt']}")


def until_outcome(sent, **counts):
    """Waits until insight counts these outcomes of a send."""
    try:
        until("the outcome", lambda: all(progress_of(sent)["report"].get(name) == number for name, number in counts.items()), limit=90)
    except TimeoutError:
        raise TimeoutError(f"{counts} of {sent['sendId']}: {progress_of(sent)['report']}") from None


def update_tokens(phone):
    """Returns the update tokens of a simulated phone by group."""
    groups = {one["activity"]: one["group"] for one in control("GET", f"/v1/phones/{phone}")["activities"]}
    return {groups[one["activity"]]: one["token"] for one in control("GET", f"/v1/phones/{urllib.parse.quote(phone)}/tokens")["update"] if one["activity"] in groups}
