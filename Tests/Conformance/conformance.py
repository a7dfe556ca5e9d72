"""Does a broker behave as Kafka does? Asks it through clients that nobody here wrote: librdkafka of
today (confluent-kafka) and of Debian (kcat).

    conformance.py --bootstrap HOST:PORT [--restart-command COMMAND] [--only WORD] [--jobs N]

Prints one line per theme, what failed with what the client logged, and a count. A behaviour is a
function; one with a `yield` has the broker killed and started again there, all of them at once."""

import argparse
import faulthandler
import importlib
import inspect
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback

from kit import Kafka, Skip, eventually

THEMES = [
    "compaction", "retention", "transactions", "members", "groups", "idempotence", "volume", "compression",
    "records", "offsets", "topics", "debian",
]  # fmt: skip
# One behaviour's patience: retention on a broker with default settings looks every five minutes.
LIMIT_SECONDS = 420


class Behaviour:
    verbose = False

    def __init__(self, theme, function):
        self.theme = theme
        self.function = function
        self.sentence = function.__name__.replace("_", " ")
        self.restarts = inspect.isgeneratorfunction(function)
        self.outcome = "skipped: needs --restart-command" if self.restarts else "not run"
        self.seconds = 0.0

    def begin(self, bootstrap):
        self.kafka = Kafka(bootstrap)
        if self.restarts:
            self.steps = self.function(self.kafka)
            self.go_on()
        else:
            self._run(lambda: self.function(self.kafka))

    def go_on(self):
        """Up to the next restart, or to the end."""
        if self._run(lambda: next(self.steps, "end")) != "end" and self.outcome == "passed":
            self.outcome = "waiting"

    def _run(self, call):
        began = time.monotonic()
        result = None
        try:
            result = call()
            self.outcome = "passed"
        except Skip as reason:
            self.outcome = f"skipped: {reason}"
        except Exception as problem:
            place = [f for f in traceback.extract_tb(problem.__traceback__) if not f.filename.endswith("kit.py")][-1]
            kind = "" if isinstance(problem, AssertionError) else f"{type(problem).__name__}: "
            self.outcome = f"failed: {kind}{problem} ({os.path.basename(place.filename)}:{place.lineno})"
        self.seconds += time.monotonic() - began
        if Behaviour.verbose:
            print(f"{self.seconds:6.1f} s  {self.theme}: {self.sentence}: {self.outcome}", flush=True)
        return result

    def tidy(self):
        try:
            self.kafka.tidy()
        except Exception as problem:
            self.kafka.log.lines.append(f"cannot tidy up: {problem}")


def load(words):
    found = []
    for theme in THEMES:
        module = importlib.import_module(theme)
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == theme and not function.__name__.startswith("_"):
                behaviour = Behaviour(theme, function)
                if not words or any(word in f"{theme} {behaviour.sentence}" for word in words):
                    found.append(behaviour)
    return found


def in_parallel(behaviours, work, jobs, limit=LIMIT_SECONDS):
    """Does the work with every behaviour; one that does not come back is given up, not waited for."""
    waiting = queue.SimpleQueue()
    for behaviour in behaviours:
        waiting.put(behaviour)
    ended = queue.SimpleQueue()

    def take():
        while True:
            try:
                behaviour = waiting.get_nowait()
            except queue.Empty:
                return
            work(behaviour)
            ended.put(behaviour)

    for _ in range(min(jobs, len(behaviours))):
        threading.Thread(target=take, daemon=True).start()
    left = set(behaviours)
    end = time.monotonic() + limit
    while left and time.monotonic() < end:
        try:
            left.discard(ended.get(timeout=1))
        except queue.Empty:
            pass
    for behaviour in left:
        behaviour.seconds = limit
        behaviour.outcome = f"failed: did not come back within {limit} s"


def report(behaviours, themes):
    for theme in themes:
        own = [b for b in behaviours if b.theme == theme]
        if not own:
            continue
        bad = [b for b in own if b.outcome.startswith("failed") or b.outcome in ("waiting", "not run")]
        skipped = [b for b in own if b.outcome.startswith("skipped")]
        passed = len(own) - len(bad) - len(skipped)
        line = f"{'FAIL' if bad else 'ok  '} {theme:13} {passed:2} passed"
        line += f", {len(bad)} failed" if bad else ""
        line += f", {len(skipped)} skipped" if skipped else ""
        print(f"{line}  ({max(b.seconds for b in own):.1f} s the longest)")
        for behaviour in bad:
            print(f"     ✘ {behaviour.sentence}\n       {behaviour.outcome}")
            for text in behaviour.kafka.log.lines[-6:] if hasattr(behaviour, "kafka") else []:
                print(f"       | {text[:200]}")


def restart(command, bootstrap):
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"conformance: restart command ended with {done.returncode}: {done.stderr[-300:]}")
    eventually(lambda: Kafka(bootstrap).admin.list_topics(timeout=5), "the broker is back", limit=60)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--bootstrap", required=True)
    options.add_argument("--restart-command")
    options.add_argument("--only", action="append", help="a word of a theme or a sentence; may be repeated")
    options.add_argument("--jobs", type=int, default=10)
    options.add_argument("--verbose", action="store_true", help="print each behaviour as it ends")
    options = options.parse_args()

    # Who seems to hang says where: kill -USR1.
    faulthandler.register(signal.SIGUSR1)
    Behaviour.verbose = options.verbose
    behaviours = load(options.only)
    calm = [b for b in behaviours if not b.restarts]
    shaken = [b for b in behaviours if b.restarts] if options.restart_command else []
    began = time.monotonic()
    in_parallel(calm, lambda b: b.begin(options.bootstrap), options.jobs)
    in_parallel(shaken, lambda b: b.begin(options.bootstrap), len(shaken))
    waiting = [b for b in shaken if b.outcome == "waiting"]
    while waiting:
        restart(options.restart_command, options.bootstrap)
        in_parallel(waiting, lambda b: b.go_on(), len(waiting))
        waiting = [b for b in waiting if b.outcome == "waiting"]
    in_parallel([b for b in behaviours if hasattr(b, "kafka")], lambda b: b.tidy(), options.jobs, limit=30)

    report(behaviours, THEMES)
    count = {kind: sum(b.outcome.startswith(kind) for b in behaviours) for kind in ("passed", "skipped")}
    failed = len(behaviours) - sum(count.values())
    skipped = f", {count['skipped']} skipped (they need --restart-command)" if count["skipped"] else ""
    print(f"{count['passed']} passed, {failed} failed{skipped}, {time.monotonic() - began:.0f} s")
    sys.stdout.flush()
    os._exit(1 if failed else 0)


if __name__ == "__main__":
    main()
