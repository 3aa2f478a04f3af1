"""How quick the page is in a browser: its first view, and what a streamed token costs.

    python -m benchmarks.page [ROUNDS]

Prints one Markdown table: medians of ROUNDS rounds (default 5) in Debian's Chromium, driven by
selenium (extra `dev`). A loopback server that speaks Ollama's API is the model; it writes 400
tokens, 5 ms apart. The cost of a token is measured by the browser itself: the script from one read
of the stream to the next, and of the frames. The reference is the same answer in an empty talk.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from openclaw.messages import Entry
from openclaw.server.server_client import RunningServer
from openclaw.sessions.store import SessionStore
from openclaw.storage.new_home import create_home
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.serving import serving

TOKENS, PAUSE_SECONDS = 400, 0.005
LONG = 300
"""Messages of the long talk."""
FIRST_VIEW_AIM, TOKEN_AIM = 300, 20
"""Milliseconds: from the server's first byte to a filled page; script a token, 99th percentile."""
PROBE = """
window.costs = [];
const read = ReadableStreamDefaultReader.prototype.read;
let began = 0;
ReadableStreamDefaultReader.prototype.read = async function () {
  if (began) window.costs.push(performance.now() - began);
  began = 0;
  const got = await read.call(this);
  began = got.done ? 0 : performance.now();
  return got;
};
const frame = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (act) => frame((at) => {
  const start = performance.now();
  act(at);
  window.costs.push(performance.now() - start);
});
new MutationObserver((_, seen) => {
  if (!document.querySelector('#tab > div') || !document.querySelector('#messages > *')) return;
  window.filled = performance.now();
  seen.disconnect();
}).observe(document, { childList: true, subtree: true });
"""


def open_browser() -> Any:
    """Chromium with the probe in every page."""
    from selenium import webdriver

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        raise SystemExit("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    opened = webdriver.Chrome(options, webdriver.chrome.service.Service(driver))
    opened.set_window_size(1400, 900)
    opened.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": PROBE})
    return opened


def until(browser: Any, script: str) -> Any:
    """The value of a script as soon as it is true."""
    end = time.monotonic() + 60
    while not (found := browser.execute_script(f"return {script}")):
        if time.monotonic() > end:
            raise SystemExit(f"the page did not come to: {script}")
        time.sleep(0.02)
    return found


def first_view(browser: Any, server: RunningServer, session: str) -> float:
    """Milliseconds from the first byte of the page to a view with its talk and a filled panel."""
    code = server.call("POST", "/api/link", {})["code"]
    browser.get("about:blank")
    browser.get(f"http://127.0.0.1:{server.port}/#{code}")
    until(browser, "sessionStorage.getItem('openclaw token')")
    browser.execute_script(f"location.hash = '/s/{session or 'new'}/todos/'; location.reload()")
    until(browser, "window.filled && location.hash.startsWith('#/s/')")
    navigation = "performance.getEntriesByType('navigation')[0].responseStart"
    return float(browser.execute_script(f"return window.filled - {navigation}"))


def token_costs(browser: Any) -> list[float]:
    """Milliseconds of script for each piece of a streamed answer, and each frame of it."""
    ask = "document.getElementById('prompt').value = 'Tell a story';"
    browser.execute_script(
        f"window.costs = []; {ask} document.getElementById('composer').requestSubmit()"
    )
    until(browser, "document.querySelector('article.agent:last-of-type .md') !== null")
    until(browser, "document.getElementById('stop').hidden")
    return list(browser.execute_script("return window.costs"))


def measure(rounds: int) -> Iterator[Sequence[str]]:
    """Rows of the table."""
    views: dict[str, list[float]] = {"": [], "long": []}
    costs: dict[str, list[float]] = {"": [], "long": []}
    browser = open_browser()
    with FakeOllama() as fake, tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        create_home(
            home,
            "model: ollama/fake:1b\nprotocol: native\nembedding: none\n"
            f"ollama:\n  host: {fake.url}\n",
        )
        store = SessionStore(home / "sessions", home / ".openclaw" / "locks")
        with serving(home) as (_, server):
            for _ in range(rounds):
                made = server.call("POST", "/api/sessions", {"title": "long"})
                session = store.load(made["id"])
                for number in range(LONG // 2):
                    asked, said = (
                        Entry("user", f"ask {number}"),
                        Entry("assistant", f"say {number}"),
                    )
                    session.messages += [asked, said]
                store.save(session)
                for name in ("", "long"):
                    fake.say(Answer([f"word{n} " for n in range(TOKENS)], pause=PAUSE_SECONDS))
                    views[name].append(first_view(browser, server, name and session.id))
                    costs[name] += token_costs(browser)
    browser.quit()
    empty, long = (statistics.median(views[name]) for name in ("", "long"))
    yield "first view, an empty talk", f"{empty:.0f} ms", "1.00", f"{FIRST_VIEW_AIM} ms"
    yield (
        f"first view, {LONG} messages",
        f"{long:.0f} ms",
        f"{long / empty:.2f}",
        (f"{FIRST_VIEW_AIM} ms"),
    )
    for title, at in (("median", 50), ("99th percentile", 99)):
        base, found = (statistics.quantiles(costs[n], n=100)[at - 1] for n in ("", "long"))
        for what, value in (("an empty talk", base), (f"{LONG} messages", found)):
            ratio = value / base if base else 0.0
            yield f"a token, {what}, {title}", f"{value:.2f} ms", f"{ratio:.2f}", f"{TOKEN_AIM} ms"


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| what | measured | to the empty talk | aim |\n|---|---|---|---|")
    for row in measure(rounds):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
