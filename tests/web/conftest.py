"""A browser that looks at the page of a real server, answered by a fake model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from openclaw.server.server_client import RunningServer
from tests.fakes.git_home import copy_home
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.serving import serving

WAIT_SECONDS = 20


@dataclass
class Page:
    """The page in a browser. `find` and `all` take CSS selectors, and wait until there is one."""

    browser: Any
    server: RunningServer
    home: Path

    def open(self, path: str = "") -> None:
        """Open the page by a new link."""
        code = self.server.call("POST", "/api/link", {})["code"]
        self.browser.get("about:blank")
        self.browser.get(f"http://127.0.0.1:{self.server.port}/#{code}")
        self.find("#tabs [aria-selected='true']")
        if path:
            self.browser.execute_script("location.hash = arguments[0]", path)

    def wait(self, ready: Callable[[], Any]) -> Any:
        from selenium.common.exceptions import (
            ElementNotInteractableException,
            StaleElementReferenceException,
        )
        from selenium.webdriver.support.ui import WebDriverWait

        ignored = (StaleElementReferenceException, ElementNotInteractableException, IndexError)
        waiting = WebDriverWait(self.browser, WAIT_SECONDS, 0.02, ignored)
        return waiting.until(lambda _: ready())

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.browser.find_elements("css selector", selector)
        return found

    def find(self, selector: str) -> Any:
        return self.wait(lambda: self.all(selector))[0]

    def sees(self, text: str, selector: str = "body") -> None:
        """Wait until the text is there."""
        self.wait(lambda: text in self.find(selector).text)

    def press(self, name: str, within: str = "") -> None:
        """Press the button, or the link, of that name."""

        def shown() -> list[Any]:
            found = self.all(f"{within} button, {within} a")
            return [each for each in found if each.text == name and each.is_displayed()]

        self.act(lambda: shown()[0].click())

    def act(self, action: Callable[[], Any]) -> None:
        """Do it, and again when the page was filled anew meanwhile."""

        def done() -> bool:
            action()
            return True

        self.wait(done)

    def ask(self, text: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.find("#prompt").send_keys(text, Keys.ENTER)

    def told(self) -> list[str]:
        """What the browser says of errors, and which other places it asked."""
        said = [each["message"] for each in self.browser.get_log("browser")]
        asked = self.browser.execute_script(
            "return performance.getEntriesByType('resource').map((each) => each.name)"
        )
        own = f"http://127.0.0.1:{self.server.port}/"
        return [*said, *(url for url in asked if not url.startswith(own))]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.chrome.service.Service(driver)
    opened = webdriver.Chrome(options=options, service=service)
    opened.set_window_size(1400, 900)
    yield opened
    opened.quit()


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama) -> Path:
    settings = "model: ollama/fake:1b\nprotocol: native\nembedding: none\n"
    return copy_home(tmp_path / "home", settings, in_git=False)


@pytest.fixture
def page(browser: Any, home: Path) -> Iterator[Page]:
    with serving(home) as (_, server):
        opened = Page(browser, server, home)
        opened.open()
        opened.told()
        yield opened
        browser.get("about:blank")
