#!/usr/bin/env python3
"""Verifies the signatures of webhook calls with the library standardwebhooks. Each line of the file is a call: its secret,
its headers and its body. The calls may be older than the five minutes that `verify` of the library allows, so this
compares with the library's own signature."""
import json
import sys
from datetime import datetime, timezone

from standardwebhooks.webhooks import Webhook


def signature(call, seconds):
    time = datetime.fromtimestamp(seconds, tz=timezone.utc)
    return Webhook(call["secret"]).sign(call["headers"]["webhook-id"], time, call["body"])


def main():
    verified = 0
    for line in open(sys.argv[1], encoding="utf-8"):
        call = json.loads(line)
        seconds = int(call["headers"]["webhook-timestamp"])
        found = call["headers"]["webhook-signature"].split(" ")
        if signature(call, seconds) not in found:
            sys.exit(f"the signature of {call['headers']['webhook-id']} is not valid")
        if signature(call, seconds + 1) in found:
            sys.exit(f"the signature of {call['headers']['webhook-id']} does not cover the time")
        verified += 1
    if verified == 0:
        sys.exit("there is no call to verify")
    print(f"webhook-kills: standardwebhooks verified {verified} calls")


main()
