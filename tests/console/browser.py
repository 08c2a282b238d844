"""A page in a real browser: Debian's Chromium without a window, driven by the DevTools protocol over a pair of pipes."""

import json
import os
import select
import shutil
import signal
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM_VARIABLE = "ROCKETCONNECT_CHROMIUM"
AXE = Path(__file__).parents[2] / ".venv/console/console/node_modules/axe-core/axe.min.js"
LIMIT = 90.0
"""Seconds that anything may take: for hangs alone."""
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--no-proxy-server",
    "--remote-debugging-pipe",
    "--force-prefers-reduced-motion",
)
_FIND = """
(selector, text) => {
  const shown = (each) => (each.getAttribute("aria-label") || each.innerText || each.value || "").trim();
  const all = [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility() && !each.matches(":disabled"));
  const top = [...document.querySelectorAll("dialog[open]")].at(-1);
  return all.find((each) => (!top || top.contains(each)) && (text === null || shown(each).includes(text)));
}
"""

_PLACE = """
async (find) => {
  const place = () => {
    const at = find()?.getClientRects()[0];
    return at ? [at.x + at.width / 2, at.y + at.height / 2] : [0, 0];
  };
  find()?.scrollIntoView({block: "center"});
  let before;
  do {
    before = String(place());
    await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
  } while (String(place()) !== before);
  const it = find();
  window.met = false;
  document.addEventListener("click", (event) => { window.met = Boolean(it?.contains(event.target)); }, {capture: true, once: true});
  return place();
}
"""


def program() -> str | None:
    """Where it is; None: it is not installed (Debian: apt-get install chromium; `make setup` for the tests does it)."""
    return shutil.which(os.environ.get(PROGRAM_VARIABLE, "chromium"))


class PageFailed(Exception):
    """The page did not do what was waited for; the text has what it shows."""


class Page:
    """One page. Not for several threads.

    Attributes:
        troubles: What scripts of the page threw, and what its policy refused.
    """

    def __init__(self, told: int, heard: int) -> None:
        self.troubles: list[str] = []
        self._told, self._heard = told, heard
        self._rest = b""
        self._number = 0
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """What the browser answers to a command of the protocol."""
        number = self._send(method, given)
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    msg = f"{method}: {answer['error']}"
                    raise PageFailed(msg)
                return dict(answer["result"])
            self._note(answer)

    def _send(self, method: str, given: dict[str, Any]) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._told, json.dumps(message).encode() + b"\0")
        return self._number

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + LIMIT
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._heard], [], [], max(0.0, until - time.monotonic()))
            part = os.read(self._heard, 1 << 20) if ready else b""
            if not part:
                msg = "the browser does not answer" if not ready else "the browser has ended"
                raise PageFailed(msg)
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(line))

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Page.javascriptDialogOpening":
            # Whether to leave the page: yes. Until then it answers nothing else.
            self._send("Page.handleJavaScriptDialog", {"accept": True})
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.troubles.append(str(details.get("exception", {}).get("description", details["text"])))
        if event.get("method") == "Log.entryAdded":
            entry = event["params"]["entry"]
            # Answers of the API that refuse something are logged by the browser, and shown by the page.
            if entry["level"] == "error" and entry["source"] != "network":
                self.troubles.append(str(entry["text"]))

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript, of a promise what it becomes."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in done:
            raise PageFailed(str(done["exceptionDetails"]))
        return done["result"].get("value")

    def show(self, url: str) -> None:
        """Load it anew."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)

    def text(self) -> str:
        """What the page shows."""
        return str(self.run("document.body?.innerText ?? ''"))

    def until(self, script: str, what: str = "") -> Any:
        """Wait until an expression is true; return its value."""
        until = time.monotonic() + LIMIT
        while not (found := self.run(script)):
            if time.monotonic() > until:
                msg = f"waited for {what or script}; the page shows:\n{self.text()}\n{self.troubles}"
                raise PageFailed(msg)
            time.sleep(0.1)
        return found

    def sees(self, *texts: str) -> None:
        """Wait until it shows all of these."""
        for text in texts:
            self.until(f"document.body?.innerText.includes({json.dumps(text)})", text)

    def click(self, selector: str, text: str | None = None) -> None:
        """Press the mouse on the first one that is shown, can be used and has this text; wait for it, and until it rests."""
        find = f"({_FIND})({json.dumps(selector)}, {json.dumps(text)})"
        until = time.monotonic() + LIMIT
        while True:
            self.until(f"Boolean({find})", f"{selector} {text}")
            x, y = self.run(f"({_PLACE})(() => {find})")
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
            # What came above it meanwhile can have moved it away.
            if self.run("window.met"):
                return
            if time.monotonic() > until:
                msg = f"{selector} {text} is not met; the page shows:\n{self.text()}"
                raise PageFailed(msg)

    def write(self, selector: str, text: str) -> None:
        """Put this in the place of what a field has, as somebody who types; wait until it is shown and can be used."""
        focus = "(it) => { it?.focus(); it?.select(); return Boolean(it) && document.activeElement === it }"
        self.until(f"({focus})(({_FIND})({json.dumps(selector)}, null))", selector)
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """A key of the keyboard, by its name."""
        text = {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Tab": 9, "Escape": 27}[key]
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def is_like(self, *, width: int = 1280, height: int = 900, theme: str = "light") -> None:
        """The size of the window, and what the system prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def picture(self, file: Path) -> None:
        """Of the whole page, as PNG."""
        shown = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(b64decode(shown["data"]))

    def violations(self) -> list[str]:
        """What axe-core has against the page as it is."""
        if not self.run("'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8") + "; true")
        found = self.run("axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)")
        return [f"{each['id']}: {each['help']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


@contextmanager
def browsing(folder: Path, language: str = "en") -> Iterator[Page]:
    """A browser with a new profile below a folder, until the end of the block."""
    chromium = program()
    assert chromium is not None, "Chromium is missing (Debian: apt-get install chromium)"
    to_read, told = os.pipe()
    heard, to_write = os.pipe()
    # It speaks on 3 and 4, wherever the pipes are here.
    script = f'exec "$@" 3<&{to_read} 4>&{to_write}'
    command = [chromium, *_FLAGS, f"--user-data-dir={folder / 'profile'}", f"--lang={language}", f"--accept-lang={language}"]
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(to_read, to_write),
        start_new_session=True,
    )
    os.close(to_read)
    os.close(to_write)
    try:
        yield Page(told, heard)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(told)
        os.close(heard)
