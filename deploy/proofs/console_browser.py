"""A headless Chromium that uses the console as a person does, for the proofs of the console."""
import base64
import json
import os
import sys
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

GATEWAY = os.environ["GATEWAY"]
# The address of the pages. A proof may put a proxy there.
CONSOLE = GATEWAY
PICTURES = sys.argv[1]
LIMIT = 60
# Messages that the browser logs for refusals that a proof causes on purpose.
REFUSED = ("status of 422", "status of 401", "status of 403", "status of 409")
failures = []


def check(fact, sentence):
    print(f"{'ok  ' if fact else 'FAIL'} {sentence}", flush=True)
    if not fact:
        failures.append(sentence)


def api(method, path, body=None, key="ADMIN"):
    request = urllib.request.Request(
        GATEWAY + path, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ[key]})
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def is_expected(message):
    # A page asks for a group that does not exist yet.
    is_new_group = "/v1/groups/" in message and "status of 404" in message
    return is_new_group or any(word in message for word in REFUSED)


class Browser:
    def __init__(self, width=1280, height=900, dark=False):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars",
                     f"--window-size={width},{height}"]:
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(120)
        # No page may load anything from another host, so each such name would appear in the log.
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.width, self.height = width, height
        self.resize(height)
        self.said = []

    def resize(self, height):
        is_small = self.width < 500
        self.command("Emulation.setDeviceMetricsOverride", width=self.width, height=height,
                     deviceScaleFactor=2 if is_small else 1, mobile=is_small)

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return WebDriverWait(self.driver, LIMIT).until(lambda driver: driver.find_element(By.CSS_SELECTOR, selector))

    def find_text(self, tag, text):
        path = f"//{tag}[contains(normalize-space(.), '{text}')]"
        return WebDriverWait(self.driver, LIMIT).until(lambda driver: driver.find_element(By.XPATH, path))

    def click(self, element):
        self.run("arguments[0].scrollIntoView({block:'center'})", element)
        element.click()

    def wait(self, sentence, fact):
        try:
            WebDriverWait(self.driver, LIMIT, poll_frequency=0.2, ignored_exceptions=[Exception]).until(lambda _: fact())
            check(True, sentence)
        except Exception:  # noqa: BLE001 any exception means that the page did not reach the state
            self.picture("failed-" + "".join(c if c.isalnum() else "-" for c in sentence)[:40])
            check(False, f"{sentence}; the page says: {self.text()[:400]!r}")

    def text(self):
        return self.run("return (document.querySelector('main') ?? document.body).innerText")

    def open(self, page):
        self.driver.get(f"{CONSOLE}/console#/{page}")

    def log_in(self, key):
        self.open("")
        self.find("input[name=key]").send_keys(os.environ[key])
        self.click(self.find("button[type=submit]"))
        self.find("nav.menu")

    def field(self, path):
        return self.find(f'[data-path="{path}"]')

    def picture(self, name):
        self.run("scrollTo(0, 0)")
        # The screen gets the height of the page, so elements with the height of the screen grow with it.
        self.resize(max(self.height, min(self.run("return document.documentElement.scrollHeight"), 3000)))
        shot = self.command("Page.captureScreenshot")
        self.resize(self.height)
        with open(f"{PICTURES}/{name}.png", "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def errors(self):
        self.said += [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        return [message for message in self.said if not is_expected(message)]

    def close(self):
        self.driver.quit()
