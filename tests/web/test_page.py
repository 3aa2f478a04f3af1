"""The page in a real browser. `make test` tries the first prompt, `make test-all` the rest."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.data.sample import sample
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.serving import start_server
from tests.web.conftest import Page

WRITE = Answer(calls=[("write_file", {"path": "workspace/a.md", "content": "one\n"})])
SERIOUS = ("serious", "critical")
VIEWS = ("todos", "files", "memory", "skills", "inside", "history", "usage", "settings")


def test_a_first_prompt_is_answered_and_taken_back(page: Page, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(WRITE, "I wrote **one** into workspace/a.md.")
    page.ask("Write one into workspace/a.md")
    page.sees("workspace/a.md created +1 -0", ".receipt")
    assert page.find("article.agent strong").text == "one"
    assert page.find(".tool summary").text.startswith("write_file workspace/a.md")
    page.sees("Write one into workspace/a.md", "#session-list")
    assert page.find("#prompt").get_attribute("value") == ""
    page.press("Undo", ".receipt")
    page.wait(lambda: not (page.home / "workspace/a.md").exists())
    assert page.told() == []


@pytest.mark.slow
@pytest.mark.parametrize(("reply", "made"), [("Once", True), ("No", False)])
def test_a_question_shows_the_whole_call_and_is_answered(
    page: Page, fake_ollama: FakeOllama, reply: str, made: bool
) -> None:
    settings = page.home / "openclaw.yaml"
    settings.write_text(settings.read_text() + "mode: ask\n")
    fake_ollama.say(WRITE, "Done." if made else "I may not.")
    page.ask("Write one into workspace/a.md")
    page.sees("content: one", ".question pre")
    assert page.browser.switch_to.active_element.get_attribute("id") == "prompt"
    page.press(reply, ".question")
    page.sees("Done." if made else "I may not.", ".agent .md")
    assert (page.home / "workspace/a.md").exists() == made
    assert page.told() == []


@pytest.mark.slow
def test_a_prompt_during_an_answer_waits_for_its_end(page: Page, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer([f"word{n} " for n in range(60)], pause=0.02), "Second.")
    page.ask("Tell a story")
    page.sees("word3", ".stream")
    page.ask("And then?")
    page.sees("Second.", "article.agent:last-of-type .md")
    answers = [each.text for each in page.all("article.agent .md")]
    assert [answers[0].split()[-1], answers[1]] == ["word59", "Second."]
    assert [each.text for each in page.all("article.user p")] == ["Tell a story", "And then?"]
    page.browser.refresh()
    page.wait(lambda: len(page.all("article.agent .md")) == 2)


@pytest.mark.slow
def test_an_answer_is_stopped_by_escape(page: Page, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer([f"word{n} " for n in range(500)], pause=0.02))
    page.ask("Tell a story")
    page.sees("word3", ".stream")
    page.find("#prompt").send_keys(Keys.ESCAPE)
    page.sees("interrupted", "#messages .problem")
    page.wait(lambda: not page.find("#stop").is_displayed())


@pytest.mark.parametrize("seed", sample(range(50), 0))
def test_a_reload_in_mid_answer_loses_and_doubles_nothing(
    page: Page, fake_ollama: FakeOllama, seed: int
) -> None:
    words = [f"word{n} " for n in range(60)]
    fake_ollama.say(Answer(words, pause=0.01))
    page.ask("Tell a story")
    page.wait(lambda: "/s/2" in page.browser.current_url)
    time.sleep(random.Random(seed).uniform(0, 0.7))
    page.browser.refresh()
    page.wait(lambda: page.find("article.agent .md").text.split() == "".join(words).split())
    assert [each.text for each in page.all("article.user p")] == ["Tell a story"]
    assert len(page.all("article.agent")) == 1
    assert page.told() == []


@pytest.mark.slow
def test_an_edit_is_merged_with_what_an_editor_saved_meanwhile(page: Page) -> None:
    file = page.home / "workspace/list.md"
    file.write_text("one\ntwo\nthree\n")
    page.open("/s/new/files/workspace%2Flist.md")
    area = page.find("textarea.editor")
    area.send_keys(Keys.CONTROL, Keys.HOME)
    area.send_keys("first ")
    file.write_text("one\ntwo\nthree\nfour\n")
    page.press("Save", "#tab")
    page.wait(lambda: file.read_text() == "first one\ntwo\nthree\nfour\n")
    page.sees("saved, together with what others changed meanwhile", "#tab")
    page.wait(lambda: "four" in page.find("textarea.editor").get_attribute("value"))
    page.find("textarea.editor").send_keys(Keys.CONTROL, Keys.HOME)
    page.find("textarea.editor").send_keys("x")
    file.write_text("mine\n")
    page.press("Save", "#tab")
    page.sees("was changed meanwhile", "#tab")
    assert file.read_text() == "mine\n"
    assert page.all("textarea[readonly]")[0].get_attribute("value") == "mine\n"


@pytest.mark.slow
def test_todos_memories_and_settings_are_changed_in_their_tabs(page: Page) -> None:
    page.find("[aria-label='New to-do in Tasks']").send_keys("buy milk", Keys.ENTER)
    page.sees("buy milk", "#tab")
    page.wait(lambda: [b for b in page.all(".todos li") if "buy milk" in b.text])[0].find_element(
        "css selector", "[type=checkbox]"
    ).click()
    page.wait(lambda: "- [x] buy milk" in (page.home / "memory/TODO.md").read_text())
    page.open("/s/new/memory/")
    page.find("[aria-label='A fact to remember']").send_keys("The boat is blue.", Keys.ENTER)
    page.sees("The boat is blue.", "#tab table")
    page.find("[aria-label='Look for']").send_keys("boat", Keys.ENTER)
    page.sees("words 1", "#tab")
    page.open("/s/new/settings/")
    field = page.find("[id='set-temperature']")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("0.5", Keys.TAB)
    page.wait(lambda: "temperature: 0.5" in (page.home / "openclaw.yaml").read_text())
    assert page.told() == []


@pytest.mark.slow
def test_a_to_do_is_moved_by_dragging_and_by_its_list(page: Page) -> None:
    file = page.home / "memory/TODO.md"
    file.write_text(
        "## Home\n\n- [ ] paint ^0a1b2c3d\n- [ ] rest ^11223344\n\n## Work\n\n- [ ] call\n"
    )
    page.open("/s/new/todos/")
    page.wait(lambda: len(page.all(".todos li")) == 3)
    page.act(lambda: drag(page, "[data-id='0a1b2c3d'] span", page.all(".block h2")[-1]))
    page.wait(lambda: "paint" in file.read_text().partition("## Work")[2])
    page.act(lambda: Select(page.find("[aria-label='List: rest']")).select_by_value("Work"))
    page.wait(lambda: "rest" in file.read_text().partition("## Work")[2])
    page.act(lambda: page.find("[aria-label='Name of a new list']").send_keys("Trip", Keys.ENTER))
    page.act(lambda: page.find("[aria-label='New to-do in Trip']").send_keys("pack", Keys.ENTER))
    page.wait(lambda: "pack" in file.read_text().partition("## Trip")[2])
    assert page.told() == []


def drag(page: Page, what: str, target: Any) -> None:
    ActionChains(page.browser).drag_and_drop(page.find(what), target).perform()


@pytest.mark.slow
def test_a_line_tells_who_wrote_it(page: Page, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(WRITE, "Done.")
    page.ask("Write one into workspace/a.md")
    page.sees("created", ".receipt")
    page.browser.execute_script("location.hash = '/s/new/files/workspace%2Fa.md'")
    page.press("Who wrote this", "#tab")
    page.find("#tab table a").click()
    page.sees("+one", "#tab details[open] .diff")
    page.browser.execute_script("document.getElementById('tab-usage').click()")
    page.wait(lambda: len(page.all("svg.plot .bar-1")) == 2)
    assert page.told() == []


@pytest.mark.slow
def test_the_prompt_completes_commands_skills_and_files(
    page: Page, fake_ollama: FakeOllama
) -> None:
    (page.home / "workspace/trip.md").write_text("We fly on 14 March.\n")
    fake_ollama.say("On 14 March.", "A digest.")
    prompt = page.find("#prompt")
    prompt.send_keys("When do we fly? @trip")
    page.sees("workspace/trip.md", "#choices")
    prompt.send_keys(Keys.TAB)
    assert prompt.get_attribute("value") == "When do we fly? @workspace/trip.md "
    prompt.send_keys(Keys.ENTER)
    page.sees("On 14 March.", ".agent .md")
    assert "We fly on 14 March." in fake_ollama.chats[0]["messages"][-1]["content"]
    prompt.send_keys("/dig")
    page.sees("digest", "#choices [aria-selected='true']")
    prompt.send_keys(Keys.ENTER, Keys.ENTER)
    page.sees("A digest.", "article.agent:last-of-type .md")
    prompt.send_keys("/nothing ", Keys.ENTER)
    page.sees("there is no command /nothing", "#messages .problem")
    prompt.clear()
    prompt.send_keys("/undo ", Keys.ENTER)
    page.wait(lambda: len(page.all("article.user")) == 1)
    prompt.send_keys("/new ", Keys.ENTER)
    page.sees("Nothing was said yet", "#messages")
    assert page.told() == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 800, 1400, 2560])
def test_every_view_fits_its_width(page: Page, fake_ollama: FakeOllama, width: int) -> None:
    asking = Answer(calls=[("fetch_url", {"url": f"https://example.org/{'x' * 100}"})])
    fake_ollama.say(WRITE, "I wrote one into `workspace/a.md`. " + "long" * 100, asking)
    page.ask("Write one into workspace/a.md")
    page.sees("created", ".receipt")
    page.ask("Read https://example.org/" + "x" * 100)
    page.sees("The agent asks", ".question")
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for view in VIEWS:
        page.browser.execute_script(f"document.getElementById('tab-{view}').click()")
        page.wait(lambda: page.all("#tab > div"))
        for column in ("sessions", "talk", "panel"):
            page.browser.execute_script(
                "document.querySelector(`#views [data-view=${arguments[0]}]`).click()", column
            )
            wide = page.browser.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, f"{view} {column}"
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.told() == []


@pytest.mark.slow
def test_a_link_to_a_file_of_the_home_opens_it_and_others_lead_nowhere(
    page: Page, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("See [who I am](workspace/SOUL.md), [x](/api/todos), [y](#y), [z](http://z/).")
    page.ask("Who are you?")
    page.sees("who I am", ".agent .md")
    assert [each.text for each in page.all(".agent .md a")] == ["who I am", "z"]
    page.press("who I am", ".agent .md")
    page.wait(lambda: page.find(".editor").get_attribute("aria-label") == "workspace/SOUL.md")


@pytest.mark.slow
def test_back_shows_the_column_of_before_on_a_narrow_screen(
    page: Page, fake_ollama: FakeOllama
) -> None:
    size = {"width": 375, "height": 700, "deviceScaleFactor": 1, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    fake_ollama.say("Hello.")
    page.ask("Say hello")
    page.sees("Hello.", ".agent .md")
    page.press("Why?", "#messages")
    page.wait(lambda: page.find("#tab").is_displayed())
    page.browser.back()
    page.wait(lambda: page.find("#messages").is_displayed())
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_without_a_link_the_page_says_what_to_type(page: Page) -> None:
    page.browser.execute_script("sessionStorage.clear()")
    page.browser.get(f"http://127.0.0.1:{page.server.port}/")
    page.browser.refresh()
    page.sees("openclaw serve --link")


@pytest.mark.slow
def test_a_draft_survives_a_reload_and_a_long_talk_shows_its_end(
    page: Page, fake_ollama: FakeOllama, home: Path
) -> None:
    from openclaw.messages import Entry
    from openclaw.sessions.store import SessionStore

    store = SessionStore(home / "sessions", home / ".openclaw" / "locks")
    session = store.new("long", "ollama/fake:1b")
    for number in range(500):
        said = "- a\n- b\n" * (number % 30) + f"say {number}"
        session.messages += [Entry("user", f"ask {number}"), Entry("assistant", said)]
    store.save(session)
    page.open("/s/long/todos/")
    page.sees("say 499", "#messages")
    assert len(page.all("article")) == 50
    page.wait(lambda: abs(below_the_end(page)) < 2)
    page.browser.execute_script("document.getElementById('scroll').scrollTop = 0")
    below = below_the_end(page)
    page.press("Older messages")
    page.wait(lambda: len(page.all("article")) == 100)
    page.wait(lambda: abs(below_the_end(page) - below) < 2)
    page.find("#prompt").send_keys("half a thou")
    page.browser.refresh()
    page.wait(lambda: page.find("#prompt").get_attribute("value") == "half a thou")


def below_the_end(page: Page) -> float:
    """How many pixels of the talk are below those that are seen."""
    script = "const b = document.getElementById('scroll'); return b.scrollHeight - b.scrollTop"
    return float(page.browser.execute_script(f"{script} - b.clientHeight"))


@pytest.mark.slow
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_view_has_a_serious_fault_of_accessibility(
    page: Page, fake_ollama: FakeOllama, colours: str
) -> None:
    (page.home / "memory/inbox").mkdir(exist_ok=True)
    (page.home / "memory/inbox/2026-11-01.md").write_text("- Ann likes tea.\n")
    asking = Answer(calls=[("fetch_url", {"url": "https://example.org/x"})])
    fake_ollama.say(WRITE, "I wrote **one**.\n\n|a|b|\n|-|-|\n|1|2|", asking)
    page.ask("Write one into workspace/a.md")
    page.sees("created", ".receipt")
    page.ask("Read https://example.org/x")
    page.sees("The agent asks", ".question")
    features = [{"name": "prefers-color-scheme", "value": colours}]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    session = page.browser.current_url.split("/s/")[1].split("/")[0]
    faults = []
    for view in (*VIEWS, "files/workspace%2FSOUL.md", "skills/digest"):
        page.browser.execute_script("location.hash = arguments[0]", f"/s/{session}/{view}")
        page.wait(lambda: page.all("#tab > div"))
        time.sleep(0.2)
        found = Axe().run(page.browser)["violations"]
        faults += [f"{view}: {each['id']}" for each in found if each["impact"] in SERIOUS]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert faults == []


@pytest.mark.slow
def test_the_page_is_used_by_keys_alone(page: Page, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("One.", "Two.")
    type_keys(page, Keys.ALT, "p")
    type_keys(page, "Say one.", Keys.ENTER)
    page.sees("One.", ".agent .md")
    type_keys(page, Keys.ALT, "1")
    page.find("[aria-label='New to-do in Tasks']").send_keys("buy milk", Keys.ENTER)
    page.sees("buy milk", "#tab")
    page.find("#tab-todos").send_keys(Keys.ARROW_RIGHT)
    page.wait(lambda: page.browser.switch_to.active_element.get_attribute("id") == "tab-files")
    type_keys(page, "?")
    page.wait(lambda: page.find("#help").is_displayed())
    type_keys(page, Keys.ESCAPE)
    page.wait(lambda: not page.find("#help").is_displayed())
    type_keys(page, Keys.ALT, "n")
    page.sees("Nothing was said yet", "#messages")


def type_keys(page: Page, *keys: str) -> None:
    """Press keys wherever the focus is."""
    chain = ActionChains(page.browser)
    if keys[0] == Keys.ALT:
        chain.key_down(keys[0]).send_keys(*keys[1:]).key_up(keys[0])
    else:
        chain.send_keys(*keys)
    chain.perform()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kills as POSIX does")
def test_a_killed_server_is_told_and_the_talk_is_there_with_the_next(
    browser: Any, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(WRITE, Answer([f"word{n} " for n in range(200)], pause=0.02))
    process, server = start_server(home)
    page = Page(browser, server, home)
    page.open()
    page.ask("Write one into workspace/a.md")
    page.sees("word3", ".stream")
    process.kill()
    process.wait()
    page.sees("connection lost", "#state")
    process, page.server = start_server(home, server.port)
    page.sees("openclaw serve --link")  # its token is a new one
    page.open()
    page.find("#session-list a").click()
    page.sees("Write one into workspace/a.md", "article.user")
    page.sees("write_file workspace/a.md", "article.agent .tool")
    page.find("#tab-history").click()
    page.press("Undo the newest", "#tab")
    page.wait(lambda: not (home / "workspace/a.md").exists())
    browser.get("about:blank")
    page.server.call("POST", "/api/stop", {})
    process.wait()


@pytest.mark.slow
def test_a_first_walk_needs_no_document(page: Page, fake_ollama: FakeOllama) -> None:
    """What docs/page.md tells of: a to-do, a wrong memory, why an answer said it, and back."""
    (page.home / "memory/MEMORY.md").write_text("# Memory\n\n- Ann likes coffee.\n")
    page.act(
        lambda: page.find("[aria-label='New to-do in Tasks']").send_keys("ask Ann", Keys.ENTER)
    )
    page.sees("ask Ann", ".todos")
    fake_ollama.say("Coffee.", WRITE, "I wrote it down.")
    page.ask("What does Ann like to drink?")
    page.sees("Coffee.", ".agent .md")
    page.press("Why?", "article.agent")
    page.press("memory/MEMORY.md:3", "#tab")
    area = page.find("textarea.editor")
    area.send_keys(Keys.CONTROL, Keys.END)
    area.send_keys(Keys.BACKSPACE * len("coffee.\n"), "tea.")
    page.press("Save", "#tab")
    page.sees("saved", "#tab")
    assert "Ann likes tea." in (page.home / "memory/MEMORY.md").read_text()
    page.ask("Write one into workspace/a.md")
    page.press("Undo", ".receipt")
    page.wait(lambda: not (page.home / "workspace/a.md").exists())
    assert page.told() == []
