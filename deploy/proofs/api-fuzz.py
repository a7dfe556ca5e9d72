"""Checks every record of `sends` with the rules of APNs and ActivityKit, implemented independently from Apple's documents."""
import json
import sys


def size(value):
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def faults(send):
    event, state = send.get("event"), send.get("contentState")
    if event not in ("start", "update", "end"):
        yield "no event"
    if event != "end" and not isinstance(state, dict):
        yield "no content-state"
    if state is not None and not isinstance(state, dict):
        yield "content-state is no object"
    alert = send.get("alert", {})
    if event == "start":
        if not send.get("attributesType") or not isinstance(send.get("attributes"), dict):
            yield "no attributes"
        elif send["attributes"].get("netmeraGroupId") != send.get("group"):
            yield "no group in the attributes"
        if not (alert.get("title") or alert.get("body")):
            yield "no alert"
    elif "attributes" in send or "attributesType" in send or "endDate" in send:
        yield "belongs to a start"
    if event == "end" and "staleDate" in send:
        yield "stale-date on an end"
    if event != "end" and "dismissalDate" in send:
        yield "a dismissal-date on an event that is not an end"
    for name in ("staleDate", "dismissalDate", "endDate", "deadline", "expiration"):
        if not 0 <= send.get(name, 0) <= 100_000_000_000:
            yield f"{name} is not a time in seconds"
    if send.get("priority") not in (5, 10):
        yield "priority"
    if len(send.get("collapseId", "").encode()) > 64:
        yield "collapse-id"
    # The shortest form of the JSON. The gateway counts the bytes as written, which are never fewer.
    if size(state or {}) + size(send.get("attributes", {})) > 4096:
        yield "more than 4 KB of data"
    if size({"aps": {"content-state": state, "attributes": send.get("attributes"), "alert": alert}}) > 4096 + 60:
        yield "more than 4,096 bytes"


with open(sys.argv[1], encoding="utf-8") as file:
    records = [json.loads(line) for line in file]
sends = [record for record in records if "cancels" not in record]
wrong = [(fault, send) for send in sends for fault in faults(send)]
for fault, send in wrong[:20]:
    print(f"{fault}: {json.dumps(send)[:500]}", file=sys.stderr)
print(f"flotilla: {len(sends)} sends were accepted, {len(records) - len(sends)} cancels; {len(wrong)} break a rule")
sys.exit(1 if wrong or not sends else 0)
