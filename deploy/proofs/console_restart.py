"""Kills and restarts an installation, and runs a second insight process beside it, while a page of the console is open. The charts must
show the figures of all processes, each once."""
import glob
import os
import shutil
import signal
import subprocess
import time

from console_browser import Browser, api, check, failures
from console_phones import until

BROKER, DATA, FLOTILLA = os.environ["BROKER"], os.environ["DATA"], os.environ["FLOTILLA"]
KEYS = f"{DATA}/up/sealing-keys"
MINUTE = 60_000
# Two samples of a process are a minute apart. The first one comes some seconds after its start, unless lanes are opening.
SAMPLED_SECONDS = 75
LANES = 12


class Installation:
    """The demonstration. Its first process was started by the shell."""

    def __init__(self):
        self.process = None

    def stop(self, number):
        if self.process is None:
            first = int(os.environ["UP"])
            os.kill(first, number)
            until("the end of the first process", lambda: not is_running(first))
        else:
            self.process.send_signal(number)
            self.process.wait()

    def start(self):
        """Starts it again at the same addresses, so that the second process and the page find it."""
        flags = ["--broker-listen", BROKER, "--gateway-listen", os.environ["GATEWAY"].removeprefix("http://"), "--admin-listen", "127.0.0.1:0",
                 "--apns-simulator-control-listen", "127.0.0.1:0"]
        for port in ["", "-sandbox", "-channels", "-sandbox-channels"]:
            flags += [f"--apns-simulator{port}-port", "0"]
        with open(os.environ["LOG"], "w") as log:
            self.process = subprocess.Popen([FLOTILLA, "up", "--demo", "--data", f"{DATA}/up", *flags], stdout=log, stderr=subprocess.STDOUT)
        until("the start of the demonstration", self.is_up, limit=120)

    def is_up(self):
        if self.process.poll() is not None:
            raise SystemExit(f"the demonstration has ended with status {self.process.returncode}")
        with open(os.environ["LOG"]) as log:
            return "Ctrl-C stops it" in log.read()


def is_running(process):
    try:
        # The state of a process that has ended and whose parent has not asked yet is Z.
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def start_second():
    return subprocess.Popen([FLOTILLA, "run", "insight", "--data", f"{DATA}/second", "--kafka-brokers", BROKER, "--tokens-sealing-keys-file", KEYS,
                             "--admin-listen", "127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def until_processes(count):
    """Waits until this many insight processes answer for all lanes together."""
    def is_complete():
        # A process writes its record every 10 s. The one of a killed process stays.
        alive = [one for one in api("GET", "/v1/fleet")["members"] if one["stage"] == "insight" and time.time() * 1000 - one["heardAt"] < 25_000]
        lanes = [len(one["lanes"]) for one in alive]
        return len(lanes) == count and min(lanes) > 0 and sum(lanes) == LANES and "partial" not in series()

    until(f"{count} insight processes", is_complete, limit=90)


def series():
    return api("GET", "/v1/series?range=15m")


def samples(answer=None):
    """Returns the share of phones with the newest state by minute."""
    return {one["at"]: one["share"] for one in (answer or series())["freshness"] if "share" in one}


def pushes(before):
    """Returns the accepted pushes of the periods before a time."""
    return {one["at"]: one["accepted"] for one in series()["items"] if one["at"] < before and one.get("accepted")}


def next_minute():
    """Waits for the next minute, so that a sample of a new process is not in a minute of an old one."""
    time.sleep(61 - time.time() % 60)


def drawn(browser):
    """Returns the number of samples in the chart of the page."""
    return browser.run("""const chart = document.querySelector('svg[aria-label^="Share of phones"]');
        return chart.querySelectorAll('circle').length + [...chart.querySelectorAll('polyline')].reduce((sum, one) => sum + one.getAttribute('points').split(' ').length, 0)""")


def has(known):
    """Whether the series has these samples, whichever process is asked first."""
    return all(known.items() <= samples().items() for _ in range(6))


def main():
    began = time.time()
    installation = Installation()
    second = None
    browser = Browser()
    try:
        browser.log_in("ADMIN")
        until("the first sample", samples)
        next_minute()
        first, end = samples(), int(time.time()) // 60 * MINUTE
        counted = pushes(end)
        check(len(counted) > 0 and sum(counted.values()) >= 944 * 2, f"restart: the series has the pushes of the demonstration: {sum(counted.values())}")
        print("     a killed installation", flush=True)
        installation.stop(signal.SIGKILL)
        browser.wait("restart: the page says that the gateway does not answer", lambda: "does not answer" in browser.text())
        installation.start()
        browser.wait("restart: the page goes on without a log-in", lambda: "does not answer" not in browser.text() and "Pushes per second" in browser.text())
        until_processes(1)
        check(has(first), f"restart: after a SIGKILL the chart keeps its samples: {first} in {samples()}")
        check(counted.items() <= pushes(end).items(), "restart: and its pushes")
        browser.wait("restart: the page draws them", lambda: drawn(browser) == len(samples()) >= len(first))

        print("     a second insight process", flush=True)
        second = start_second()
        until_processes(2)
        next_minute()
        second_since = int(time.time()) // 60 * MINUTE
        check(has(first), "two processes: the samples of the first one are in each answer")
        check(counted.items() <= pushes(end).items(), "two processes: each push counts once")
        time.sleep(SAMPLED_SECONDS)

        print("     the first process without its file", flush=True)
        installation.stop(signal.SIGTERM)
        files = glob.glob(f"{DATA}/up/**/insight/freshness", recursive=True)
        check(len(files) == 1, f"two processes: the first one has a file of its samples: {files}")
        for one in files:
            shutil.rmtree(one)
        next_minute()
        restarted = int(time.time()) // 60 * MINUTE
        installation.start()
        until_processes(2)
        of_second = {at: share for at, share in samples().items() if at < restarted}
        check(bool(of_second) and min(of_second) >= second_since - MINUTE, f"two processes: the second one fills the gap of the first with its own samples: {of_second}")
        check(not set(first) & set(of_second), "two processes: what the file had is gone with it")
        check(counted.items() <= pushes(end).items(), "two processes: the pushes do not depend on that file")
        browser.wait("two processes: the page draws the samples of both", lambda: drawn(browser) == len(samples()) > 0)
        browser.picture("restart-two-processes")

        print("     a killed insight process", flush=True)
        second.kill()
        second.wait()
        until_processes(1)
        check(counted.items() <= pushes(end).items(), "killed process: the other one answers for its lanes")
        second = start_second()
        until_processes(2)
        check(has(of_second), f"killed process: its samples are back with it: {of_second}")
        check(not [message for message in browser.errors() if "ERR_" not in message and "status of 50" not in message], "restart: no other error in the browser's console")
    finally:
        for process in [second, installation.process]:
            if process is not None:
                process.terminate()
                process.wait()
        browser.close()
    print(f"flotilla: {len(failures)} failed, after {time.time() - began:.0f} s")
    raise SystemExit(1 if failures else 0)


main()
