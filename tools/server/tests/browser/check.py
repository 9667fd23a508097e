"""The page of simdb-serve in Chromium, as people use it.

    python3 tools/server/tests/browser/check.py target/debug/simdb-serve [--screenshots FOLDER]

Needs the Debian packages chromium, chromium-driver and python3-selenium. Each test starts a
server of its own. A message in the console of the browser or a request to another origin fails
the test.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

FERRY = "The ferry to the islands was cancelled due to heavy fog."
NO_FERRY = "The ferry to the islands was not cancelled due to heavy fog."
FERRY_AND_BUS = "The ferry to the islands was cancelled due to heavy fog. Buses are late."
TODAY = "今天去群岛的渡轮因大雾停航，乘客可以在码头退票。"
TOMORROW = "明天去群岛的渡轮因大雾停航，乘客可以在码头退票。"
SCRIPT = "<script>document.title = 'hacked'</script><img src=x onerror=alert(1)> a text of markup"
ARABIC = "ألغيت العبارة إلى الجزر بسبب الضباب الكثيف هذا الصباح."
TEXTS = [FERRY, NO_FERRY, FERRY_AND_BUS, TODAY, TOMORROW, SCRIPT, ARABIC]

PATIENCE_SECONDS = 30


class Server:
    """A server of a database in a folder."""

    def __init__(self, program, folder, *options):
        self.folder = Path(folder)
        command = [program, "a.simdb", "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"the server has not started: {line!r}"
        self.link = found.group()
        parts = urlsplit(self.link)
        self.base = f"http://{parts.netloc}"
        self.token = parts.query.removeprefix("token=")

    def insert(self, texts):
        documents = ({"id": number, "text": text} for number, text in enumerate(texts, 1))
        outcomes = self.post(documents)
        assert set(outcomes) <= {"inserted"}, outcomes

    def post(self, documents, options=""):
        """Sends documents, and returns their outcomes."""
        lines = "\n".join(json.dumps(document) for document in documents)
        headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.base}/v1/documents{options}", lines.encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return [json.loads(line)["outcome"] for line in answer.read().splitlines()]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_SECONDS)


class Browser:
    """A window of Chromium."""

    def __init__(self, screenshots, language="en", has_scripts=True, width=1000):
        options = webdriver.ChromeOptions()
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         "--disable-dev-shm-usage"]:
            options.add_argument(argument)
        options.add_argument(f"--window-size={width},1000")
        preferences = {"intl.accept_languages": language}
        if not has_scripts:
            preferences["profile.managed_default_content_settings.javascript"] = 2
        options.add_experimental_option("prefs", preferences)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        # The width of the page is meant, and the window has borders.
        metrics = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.screenshots = screenshots

    def open(self, url):
        self.driver.get(url)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        found = self.all(selector)
        assert len(found) == 1, f"{len(found)} of {selector}: {self.text()[:500]}"
        return found[0]

    def section(self, path):
        """Goes to a section, whatever its language."""
        self.one(f"nav a[href='{path}']").click()

    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def wait(self, condition):
        WebDriverWait(self.driver, PATIENCE_SECONDS).until(lambda _: condition())

    def submit(self, selector):
        """Presses a button, and waits for the next page."""
        before = self.driver.find_element(By.TAG_NAME, "html")
        self.one(selector).click()
        self.wait_for_page(before)

    def wait_for_page(self, before):
        self.wait(lambda: self.driver.find_element(By.TAG_NAME, "html") != before)
        self.wait(lambda: self.driver.execute_script("return document.readyState") == "complete")

    def search(self, text):
        field = self.one("textarea")
        field.clear()
        field.send_keys(text)
        self.submit("form[role=search] button")

    def shoot(self, name):
        if self.screenshots:
            self.driver.save_screenshot(str(self.screenshots / f"{name}.png"))

    def check(self, base):
        """No message in the console, and no request to another origin."""
        messages = self.driver.get_log("browser")
        assert not messages, messages
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                assert url.startswith((base + "/", "data:", "chrome:", "about:")), url


class Check:
    def __init__(self, program, screenshots):
        self.program, self.screenshots = program, screenshots

    @contextlib.contextmanager
    def serving(self, texts, *options, **of_browser):
        """A server of texts, and a browser that has opened its link."""
        with tempfile.TemporaryDirectory() as folder:
            server = Server(self.program, folder, "--create", "--similar", *options)
            browser = None
            try:
                server.insert(texts)
                browser = Browser(self.screenshots, **of_browser)
                browser.open(server.link)
                browser.wait(lambda: browser.all("nav a[aria-current]"))
                yield server, browser
                browser.check(server.base)
            finally:
                if browser:
                    browser.driver.quit()
                server.stop()

    def documents_are_browsed_and_markup_is_text(self):
        with self.serving(TEXTS) as (server, browser):
            # The link leaves no token in the address.
            assert browser.driver.current_url == f"{server.base}/", browser.driver.current_url
            shown = [text.text for text in browser.all("p.text")]
            assert shown == list(reversed(TEXTS)), shown
            assert browser.driver.title == "Browse · simdb", browser.driver.title
            assert not browser.all("main img, main script")
            arabic = browser.all("p.text")[0]
            assert arabic.value_of_css_property("direction") == "rtl"
            browser.shoot("browse")

    def search_marks_words(self):
        with self.serving(TEXTS) as (_, browser):
            browser.section("/search")
            slider = browser.one("input[type=range]")
            for _ in range(9):
                slider.send_keys(Keys.ARROW_RIGHT)
            assert browser.one("output").text == "12"
            browser.search(FERRY)
            assert browser.one("output").text == "12"
            matches = {match.find_element(By.TAG_NAME, "a").text: match for match in browser.all("article.match")}
            assert {"1", "2", "3"} <= set(matches), matches

            def own(document, tag):
                return [mark.text.strip() for mark in matches[document].find_elements(By.TAG_NAME, tag)]

            assert own("1", "ins") == own("1", "del") == []
            assert own("2", "ins") == ["not"], own("2", "ins")
            assert own("3", "ins") == ["Buses are late."], own("3", "ins")
            assert "the stored text covers the query" in matches["3"].text
            assert "neither text covers the other" in matches["2"].text
            assert len(matches["2"].find_elements(By.CSS_SELECTOR, ".block")) == 4
            browser.shoot("search")
            # A link to the matches of a match.
            matches["2"].find_element(By.TAG_NAME, "a").click()
            browser.wait(lambda: browser.one("textarea").get_attribute("value") == "2")

    def chinese_search_marks_characters_at_400_pixels(self):
        with self.serving(TEXTS, language="zh-CN", width=400) as (_, browser):
            browser.section("/search")
            browser.search(TODAY)
            assert browser.driver.find_element(By.TAG_NAME, "html").get_attribute("lang") == "zh-Hans"
            match = browser.one("article.match:nth-of-type(3)")
            marks = [mark.text for mark in match.find_elements(By.CSS_SELECTOR, "ins, del")]
            assert marks == ["今", "明"], marks
            assert "编辑相似度" in match.text
            browser.shoot("search-chinese-400")
            for link in range(len(browser.all("nav a"))):
                browser.all("nav a")[link].click()
                width = browser.driver.execute_script("return document.documentElement.scrollWidth")
                assert width <= 400, (link, width)
            browser.driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
            )
            ground = browser.driver.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
            assert ground == "rgba(21, 23, 27, 1)", ground
            browser.section("/search")
            browser.shoot("search-dark-400")

    def groups_have_keepers(self):
        with self.serving(TEXTS) as (_, browser):
            browser.section("/groups")
            browser.all("input[name=kind]")[1].click()
            browser.submit("main form button")
            group = browser.one("article.group")
            assert group.find_element(By.CSS_SELECTOR, ".head a").text == "3"
            assert not any(step.is_displayed() for step in browser.all(".progress"))
            browser.shoot("groups")

    def review_takes_keys_and_undo(self):
        with self.serving(TEXTS, "--review", "review.jsonl") as (server, browser):
            browser.section("/review")

            def press(key):
                before = browser.driver.find_element(By.TAG_NAME, "html")
                browser.driver.find_element(By.TAG_NAME, "body").send_keys(key)
                browser.wait_for_page(before)

            def answers():
                return [json.loads(line)["gold"] for line in open(server.folder / "review.jsonl", encoding="utf-8")]

            browser.shoot("review")
            first = browser.one("article.pair").text
            press("n")
            press("y")
            assert answers() == ["different", "removable"], answers()
            press("z")
            press("z")
            assert answers() == [] and browser.one("article.pair").text == first
            for _ in range(2):
                press("u")
            assert answers() == ["unsure", "unsure"]
            while browser.all("article.pair"):
                press("n")
            assert "Precision" in browser.text()
            browser.shoot("review-end")

    def health_has_plots(self):
        with self.serving(TEXTS) as (_, browser):
            browser.section("/health")
            browser.wait(lambda: browser.all(".results"))
            assert len(browser.all("svg")) >= 5
            assert not any(step.is_displayed() for step in browser.all(".progress"))
            browser.shoot("health")

    def page_works_without_scripts(self):
        with self.serving(TEXTS, has_scripts=False) as (_, browser):
            browser.section("/search")
            field = browser.one("textarea")
            field.send_keys(FERRY)
            browser.one("form[role=search] button").click()
            browser.wait(lambda: browser.all("article.match"))
            assert [mark.text.strip() for mark in browser.all("ins")], browser.text()

    @contextlib.contextmanager
    def _serving_copies(self, **of_browser):
        """A server of three stories, two of which were copied in the last hours."""
        options = ["--scopes", "--fields", "--copies", "50", "--arrivals"]
        with self.serving([], *options, **of_browser) as (server, browser):
            now = time.time() * 1000
            stories = [("en", FERRY, 9), ("zh", TODAY, 4), ("ar", ARABIC, 0)]
            for scope, text, copies in stories:
                documents = [{"key": f"https://example.org/{scope}/1?a=1&b=2", "fields": {
                    "title": text[:20], "source": {"name": "<b>agency</b>"}}}]
                # Most copies are in the second of four hours.
                documents += [{"key": f"https://{'ab'[number % 2]}.example/{scope}/{number}"}
                              for number in range(copies)]
                hours = [4] + [1 if number == copies - 1 else 3 - number / 40 for number in range(copies)]
                for document, age in zip(documents, hours):
                    document.update(scope=scope, text=text, arrival=round(now - age * 3_600_000))
                outcomes = server.post(documents, "?mode=insert_unique")
                assert outcomes == ["inserted"] + ["duplicate"] * copies, outcomes
            yield server, browser

    def copies_have_counts_sources_and_times(self):
        with self._serving_copies() as (_, browser):
            browser.section("/copies")
            stories = browser.all("article.group")
            titles = [story.find_element(By.TAG_NAME, "h2").text for story in stories]
            assert titles == ["9 copies", "4 copies"], titles
            first = stories[0]
            assert first.find_element(By.TAG_NAME, "a").text == "https://example.org/en/1?a=1&b=2"
            sources = [word.text for word in first.find_elements(By.CSS_SELECTOR, "p.missing .word")]
            assert sources == ["a.example 5", "b.example 4"], sources
            seen = [time.text for time in first.find_elements(By.CSS_SELECTOR, ".head time")]
            assert len(seen) == 2 and seen[0] < seen[1], seen
            # A bar for eight copies within half an hour or less, and one for the last copy.
            bars = [bar.rect["height"] for bar in first.find_elements(By.CSS_SELECTOR, "rect.bar")]
            assert sum(height > 0 for height in bars) >= 2 and bars[0] > bars[-1] > 0, bars
            assert "agency" in first.text and not browser.all("main b"), first.text
            browser.shoot("copies")
            first.find_element(By.TAG_NAME, "summary").click()
            newest = first.find_elements(By.TAG_NAME, "li")
            assert len(newest) == 9 and "https://a.example/en/8" in newest[0].text, newest[0].text
            browser.shoot("copies-newest")
            # Nothing was copied in the last hour but one story.
            hours = browser.one("input[name=hours]")
            hours.clear()
            hours.send_keys("2")
            browser.submit("main form button")
            assert len(browser.all("article.group")) == 2
            # The link of a story leads to its matches.
            browser.all("article.group a")[0].click()
            browser.wait(lambda: browser.all("form[role=search]"))
            assert browser.one("textarea").get_attribute("value") == "https://example.org/en/1?a=1&b=2"
            assert browser.one("input[value=key]").is_selected()
            assert browser.one("article.document").text.startswith("Query https://example.org/en/1")

    def browse_has_keys_fields_scopes_and_copies(self):
        with self._serving_copies() as (_, browser):
            browser.section("/")
            documents = {document.find_element(By.TAG_NAME, "a").text: document.text
                         for document in browser.all("article.document")}
            assert len(documents) == 3, documents
            chinese = documents["https://example.org/zh/1?a=1&b=2"]
            for part in ["zh", "4 copies", "title", TODAY[:20], "<b>agency</b>"]:
                assert part in chinese, (part, chinese)
            assert "copies" not in documents["https://example.org/ar/1?a=1&b=2"]
            browser.shoot("browse-keys")
            browser.section("/search")
            browser.one("input[value=key]").click()
            browser.search("https://example.org/none")
            assert browser.one("[role=alert]").text == "No document has this key."

    def copies_in_chinese_at_400_pixels(self):
        with self._serving_copies(language="zh-CN", width=400) as (_, browser):
            for path in ["/copies", "/", "/search"]:
                browser.section(path)
                width = browser.driver.execute_script("return document.documentElement.scrollWidth")
                assert width <= 400, (path, width)
                browser.shoot(f"copies-chinese-400{path.replace('/', '-')}")
            browser.section("/copies")
            assert browser.all("article.group h2")[1].text == "4 个副本"
            assert "a.example" in browser.text()

    def empty_database_says_so(self):
        with self.serving([], "--review", "review.jsonl") as (_, browser):
            assert "The database is empty" in browser.text()
            for link in range(1, len(browser.all("nav a"))):
                browser.all("nav a")[link].click()
                browser.wait(lambda: browser.all("h1"))
            browser.shoot("empty")

    def words_stay_whole_at_400_pixels(self):
        many = " ".join(f"passenger{number}" for number in range(60))
        with self.serving([FERRY, f"{FERRY} {many}"], width=400) as (server, browser):
            browser.open(f"{server.base}/search?by=id&q=1&radius=64")
            browser.wait(lambda: browser.all(".word"))
            browser.driver.execute_script("document.querySelector('.word').scrollIntoView()")
            browser.shoot("words-400")
            for word in browser.all(".word"):
                rectangles = browser.driver.execute_script("return arguments[0].getClientRects().length", word)
                assert rectangles == 1, word.text
            browser.section("/health")
            browser.wait(lambda: browser.all(".results th"))
            browser.driver.execute_script("document.querySelector('table').scrollIntoView()")
            browser.shoot("health-400")
            heights = {cell.text: cell.size["height"] for cell in browser.all("th")}
            assert heights["fingerprints"] < 40, heights

    def text_of_a_megabyte_is_cut(self):
        with self.serving(["ferry fog island " * (1 << 16)]) as (_, browser):
            assert "the text goes on" in browser.text()
            browser.shoot("long-text")
            browser.driver.execute_script("document.querySelector('.text').scrollTo(0, 1e6)")
            browser.shoot("long-text-end")
            browser.one("article a").click()
            browser.wait(lambda: browser.all("form[role=search]"))
            assert len(browser.text()) < 100_000

    def damage_is_reported_on_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(self.program, folder, "--create", "--similar")
            server.insert([f"document {number}: {FERRY}" for number in range(300)])
            server.stop()
            path = Path(folder) / "a.simdb"
            damaged = bytearray(path.read_bytes())
            # Bytes of texts: the database opens, and a read of the page is refused.
            place = damaged.rfind(b"ferry")
            for offset in range(place, place + 16):
                damaged[offset] ^= 0xFF
            path.write_bytes(damaged)
            server = Server(self.program, folder)
            browser = Browser(self.screenshots)
            try:
                browser.open(server.link)
                browser.wait(lambda: browser.all("[role=alert]"))
                assert "damaged" in browser.one("[role=alert]").text, browser.text()
                browser.shoot("damaged")
                browser.section("/search")
                browser.wait(lambda: browser.all("form[role=search]"))
            finally:
                browser.driver.quit()
                server.stop()


def main():
    parser = argparse.ArgumentParser(description="Checks the page of simdb-serve in Chromium.")
    parser.add_argument("program", type=Path)
    parser.add_argument("--screenshots", type=Path, help="keep pictures of the page in this folder")
    parser.add_argument("--only", help="run the checks whose names contain this")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
        options.screenshots = options.screenshots.resolve()
    # A proxy of the environment is not asked for a server of this machine.
    os.environ["no_proxy"] = "127.0.0.1"
    check = Check(str(options.program.resolve()), options.screenshots)
    names = [name for name in vars(Check) if not name.startswith("_") and name != "serving"]
    for name in names:
        if options.only and options.only not in name:
            continue
        started = time.monotonic()
        getattr(check, name)()
        print(f"{name.replace('_', ' ')}: {time.monotonic() - started:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
