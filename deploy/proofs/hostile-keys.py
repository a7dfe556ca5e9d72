"""A match with one update a second, without and with hostile keys. The time of an update is the time from its acceptance by
the gateway to its arrival at the APNs simulator, for each phone. Strangers have processors of their own, so the hostile
clients run only while the installation leaves a processor idle (SCHED_IDLE), or with CLIENTS=nice at the lowest priority of
other programs. The share of the processors that each side took is printed."""

import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

FLOTILLA = os.environ["FLOTILLA"]
SECONDS = int(os.environ["SECONDS_OF_HALF"])
PHONES = int(os.environ["PHONES"])
REPORT_KEYS, READ_KEYS = 50, 5
RATIO_MAX = 2.0
# Below this a ratio says nothing: the machine's own noise is as large.
P99_FLOOR_MILLISECONDS = 100
TYPE = "MatchAttributes"

data = tempfile.mkdtemp(prefix="hostile-keys.")
children = []


def start(name, *arguments, **environment):
    log = open(f"{data}/{name}.log", "wb")
    child = subprocess.Popen([FLOTILLA, *arguments], stdout=log, stderr=log, env={**os.environ, **environment})
    children.append(child)
    return f"{data}/{name}.log"


def stop():
    for child in reversed(children):
        child.send_signal(signal.SIGTERM)
    for child in children:
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
    shutil.rmtree(data, ignore_errors=True)


def fail(reason):
    print(f"flotilla: {reason}", file=sys.stderr)
    sys.exit(1)


def within(seconds, what, check):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.2)
    fail(f"after {seconds} s: {what}")


def find(log, pattern):
    with open(log) as file:
        found = re.search(pattern, file.read())
    return found.group(1) if found else None


def command(*arguments):
    done = subprocess.run([FLOTILLA, *arguments, "--kafka-brokers", broker], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


def call(address, method, path, key=None, body=None, timeout=30):
    """Makes one call. Returns the status and the answer."""
    connection = http.client.HTTPConnection(address, timeout=timeout)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def seconds_of(process):
    """Returns the processor time of a process in seconds."""
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pushes(after):
    """Returns the pushes that the simulator has received since an entry: for each update, the times of arrival."""
    times = {}
    while True:
        status, body = call(control, "GET", f"/v1/journal?payload=true&limit=1000&after={after}")
        page = json.loads(body)
        for entry in page["entries"]:
            payload = entry.get("payload")
            payload = json.loads(payload) if isinstance(payload, str) else payload or {}
            number = payload.get("aps", {}).get("content-state", {}).get("number")
            if number is not None and entry.get("status") == 200:
                times.setdefault(number, []).append(entry["receivedAt"])
        after = page["after"]
        if not page["entries"]:
            return times, after


def play(name, first, after):
    """Sends an update each second, and returns the times of the phones in milliseconds."""
    accepted = {}
    begin, seconds_before = time.monotonic(), seconds_of(installation)
    for index in range(SECONDS):
        number = first + index
        time.sleep(max(0, begin + index - time.monotonic()))
        send = {"event": "update", "groupId": "match", "contentState": {"number": number}, "conflate": False}
        status, body = call(gateway, "POST", "/v1/sends", keys["send"], send)
        if status != 202:
            fail(f"{name}: an update was answered {status}: {body[:200]!r}")
        accepted[number] = json.loads(body)["acceptedAt"]
    share = 100 * (seconds_of(installation) - seconds_before) / (time.monotonic() - begin)
    arrived = {}
    end = time.monotonic() + 60
    while time.monotonic() < end and sum(map(len, arrived.values())) < SECONDS * PHONES:
        time.sleep(1)
        more, after = pushes(after)
        for number, times in more.items():
            arrived.setdefault(number, []).extend(times)
    missing = SECONDS * PHONES - sum(len(times) for number, times in arrived.items() if number in accepted)
    delays = [at - accepted[number] for number, times in arrived.items() if number in accepted for at in times]
    if missing > 0:
        fail(f"{name}: {missing} pushes are missing")
    print(f"{name}: {len(delays)} pushes, p50 {percentile(delays, .5)} ms, p99 {percentile(delays, .99)} ms, max {max(delays)} ms; "
          f"the installation took {share:.0f} % of a processor")
    return percentile(delays, 0.99), after


# --- The hostile clients ---
# Each runs in a process, because threads of one interpreter would wait for each other.


def hostile_reports(key, end, counts, seed):
    """Invents phones, users, groups and taps, sends garbage and slow bodies, and schedules for others."""
    dice = random.Random(seed)
    while time.monotonic() < end:
        kind = dice.randrange(8)
        name = f"{dice.getrandbits(64):x}"
        try:
            if kind < 3:
                body = [
                    {"kind": "startToken", "environment": "production", "installationId": f"{name}-{n}", "userId": f"user-{dice.randrange(10**6)}",
                     "attributesType": TYPE, "token": f"{dice.getrandbits(256):064x}"} for n in range(500)
                ]
                status, _ = call(gateway, "POST", "/v1/reports", key, body)
            elif kind == 3:
                body = [
                    {"kind": "updateToken", "environment": "production", "installationId": f"{name}-{n}", "activityId": f"a-{name}-{n}",
                     "attributesType": TYPE, "groupId": "match" if n % 50 == 0 else f"group-{name}", "token": f"{dice.getrandbits(256):064x}"} for n in range(200)
                ]
                status, _ = call(gateway, "POST", "/v1/reports", key, body)
            elif kind == 4:
                body = [{"kind": "tap", "environment": "production", "installationId": f"phone-{n}", "activityId": f"match-{n}"} for n in range(100)]
                status, _ = call(gateway, "POST", "/v1/reports", key, body)
            elif kind == 5:
                status, _ = call(gateway, "POST", "/v1/reports", key, {"kind": [[[[[name]]]]] * 5000})
            elif kind == 6:
                body = {"user": f"user-{dice.randrange(PHONES)}", "activity": "match", "offset": 1, "customData": {"number": -1}}
                status, _ = call(gateway, "POST", "/v1/schedules", key, body)
            else:
                # A body that never ends.
                connection = http.client.HTTPConnection(gateway, timeout=3)
                connection.putrequest("POST", "/v1/reports")
                connection.putheader("Authorization", f"Bearer {key}")
                connection.putheader("Content-Length", "1000000")
                connection.endheaders()
                connection.send(b"[" * 1000)
                time.sleep(1)
                connection.close()
                status = 0
        except OSError:
            status = -1
        counts[status] = counts.get(status, 0) + 1


def hostile_reads(key, end, counts, seed):
    """Asks the questions that read most."""
    dice = random.Random(seed)
    while time.monotonic() < end:
        now = int(time.time() * 1000)
        month = f"from={now - 30 * 86_400_000}&to={now}"
        name = f"{dice.getrandbits(96):024x}"
        path = dice.choice([
            f"/v1/events/counts?{month}&split=code,type,group,user", f"/v1/events?{month}&limit=5000&type=none", f"/v1/events?{month}&limit=5000&format=csv",
            f"/v1/users/nobody-{name}", "/v1/users?limit=500", "/v1/installations?limit=500", "/v1/sends?limit=500", "/v1/groups?limit=500&state=all",
            f"/v1/sends/k-0-{name}{name[:8]}", f"/v1/sends/r-{now}-0-{name}", "/v1/audit?of=sends&limit=500", "/v1/groups/match/timeline?limit=500",
        ])
        try:
            status, _ = call(gateway, "GET", path, key)
        except OSError:
            status = -1
        counts[status] = counts.get(status, 0) + 1


def hostile_process(role, key, seconds, seed):
    """Runs four clients of one key, and prints the number of answers by status."""
    if os.environ.get("CLIENTS") == "nice":
        os.nice(19)
    else:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    counts, end = {}, time.monotonic() + seconds
    client = hostile_reports if role == "report" else hostile_reads
    threads = [threading.Thread(target=client, args=(key, end, counts, seed * 10 + n)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(1, f"{role} {json.dumps(counts)}\n".encode())


def attack(seconds):
    """Starts the hostile processes. Returns them."""
    processes = []
    for number in range(REPORT_KEYS + READ_KEYS):
        role = "report" if number < REPORT_KEYS else "read"
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(write_end, 1)
            try:
                hostile_process(role, hostile[role][number % REPORT_KEYS], seconds, number)
            finally:
                os._exit(0)
        os.close(write_end)
        processes.append((pid, read_end))
    return processes


def await_attack(processes, began, usage_before):
    totals = {"report": {}, "read": {}}
    for pid, pipe in processes:
        with os.fdopen(pipe) as file:
            for line in file:
                role, counts = line.split(" ", 1)
                for status, count in json.loads(counts).items():
                    totals[role][status] = totals[role].get(status, 0) + count
        os.waitpid(pid, 0)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    share = 100 * (usage.ru_utime + usage.ru_stime - usage_before) / (time.monotonic() - began)
    print(f"the hostile clients took {share:.0f} % of a processor")
    for role, counts in totals.items():
        text = ", ".join(f"{'broken' if s == '-1' else 'unfinished' if s == '0' else s}: {n}" for s, n in sorted(counts.items()))
        print(f"answers to the hostile {role} keys: {text}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


try:
    # The first simulator only makes the keys. The second one has phones, which need a key of the app to report.
    ports = ["--port", str(free_port()), "--sandbox-port", str(free_port()), "--channels-port", "0", "--sandbox-channels-port", "0"]
    simulator = start("keys", "apns-simulator", "--data", f"{data}/apns", *ports, "--control-listen", "127.0.0.1:0")
    key_id = within(30, "the simulator does not start", lambda: find(simulator, r"key id (\w+),"))
    children[0].terminate()
    children.pop(0).wait(30)
    # The sender finds a key by its team.
    os.makedirs(f"{data}/team/FLOTILLA01")
    shutil.copy(f"{data}/apns/AuthKey_{key_id}.p8", f"{data}/team/FLOTILLA01/")
    log = start("up", "up", "--data", f"{data}/up", "--broker-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                "--gateway-listen", "127.0.0.1:0", "--gateway-connections-per-peer", "4096", "--sender-keys", f"{data}/team",
                "--sender-apns-production", f"localhost:{ports[1]}", "--sender-apns-sandbox", f"localhost:{ports[3]}",
                "--sender-apns-authorities", f"{data}/apns/ca.pem", "--log-format", "text")
    installation = children[-1]
    gateway = within(90, "the gateway does not start", lambda: find(log, r" gateway: serving.*address=(\S+)"))
    broker = find(log, r" broker: serving.*address=(\S+)")

    def is_ready():
        try:
            return call(gateway, "GET", "/readyz")[0] == 200
        except OSError:
            return False

    within(60, "the installation does not become ready", is_ready)
    command("apps", "create", "shop", "--bundle-id", "com.example.shop", "--team-id", "FLOTILLA01", "--key-id", key_id)
    command("types", "put", "shop", TYPE, "{}")
    keys = {"send": command("keys", "create", "shop", "--role", "send"), "admin": command("keys", "create", "shop", "--role", "admin")}

    def make_key(role):
        status, body = call(gateway, "POST", "/v1/keys", keys["admin"], {"role": role})
        if status != 201:
            fail(f"no key: {status} {body!r}")
        return json.loads(body)["key"]

    hostile = {"report": [make_key("report") for _ in range(REPORT_KEYS)], "read": [make_key("read") for _ in range(READ_KEYS)]}
    simulator = start("simulator", "apns-simulator", "--data", f"{data}/apns", *ports, "--control-listen", "127.0.0.1:0",
                      "--phones", str(PHONES), "--phone-app", "com.example.shop", "--phone-types", TYPE,
                      "--report-to", gateway, FLOTILLA_APNS_SIMULATOR_REPORT_KEY=make_key("report"))
    control = within(30, "the simulator with phones does not start", lambda: find(simulator, r'"control":"([^"]*)"'))

    def phones_are_known():
        count, path = 0, "/v1/installations?limit=500"
        while path:
            status, body = call(gateway, "GET", path, keys["send"])
            page = json.loads(body) if status == 200 else {"items": []}
            count += sum(1 for item in page["items"] if item["startTokens"])
            path = f"/v1/installations?limit=500&cursor={page['next']}" if "next" in page else None
        return count == PHONES

    def found(path, text):
        status, body = call(gateway, "GET", path, keys["send"])
        return status == 200 and text in body

    within(90, "the phones do not report", phones_are_known)
    send = {"event": "start", "groupId": "match", "attributesType": TYPE, "audience": "everyone", "attributes": {"name": "a"},
            "contentState": {"number": 0}, "alert": {"title": "Kick-off"}}
    status, body = call(gateway, "POST", "/v1/sends", keys["send"], send)
    if status != 202:
        fail(f"the start was answered {status}: {body[:200]!r}")
    within(90, "the phones do not show the match", lambda: found("/v1/groups/match", f'"running":{PHONES},'.encode()))
    # The first updates make the tokens proven, and warm everything up.
    after = 0
    for number in (1, 2, 3):
        call(gateway, "POST", "/v1/sends", keys["send"], {"event": "update", "groupId": "match", "contentState": {"number": number}, "conflate": False})
        time.sleep(2)
    _, after = pushes(after)
    quiet, after = play("alone", 1000, after)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    usage_before, began = usage.ru_utime + usage.ru_stime, time.monotonic()
    processes = attack(SECONDS + 5)
    time.sleep(3)
    loud, after = play(f"beside {REPORT_KEYS} report keys and {READ_KEYS} read keys", 2000, after)
    await_attack(processes, began, usage_before)
    limit = RATIO_MAX * max(quiet, P99_FLOOR_MILLISECONDS)
    print(f"p99 alone {quiet} ms, beside hostile keys {loud} ms: {loud / max(1, quiet):.2f} times; at most {limit:.0f} ms are allowed")
    if loud > limit:
        fail("the hostile keys delay the match")
finally:
    stop()
