import dataclasses
import itertools
import re
from html.parser import HTMLParser

import pytest

import chromium
from pairup import load_experiment, load_results, run_experiment
from pairup.bounds import lower
from pairup.errors import ResultsError
from pairup.report import Making, versions, write_report

COMMAND = "pairup reproduce --out 'my <results>' && echo \"done\""
MAKING = Making(COMMAND, seconds=83.2, engine="2 threads", started="2024-05-06 07:08")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    found = []
    for name in ("experiment-1", "experiment-2"):
        experiment = load_experiment(name).scaled(rounds=300, replications=3)
        # The paper's policies and a figure of each kind: enough to see, quick to draw.
        experiment = dataclasses.replace(
            experiment,
            problems=experiment.problems[:3],
            figures=(experiment.figures[0], experiment.figures[1]),
        )
        run_experiment(experiment, folder / name)
        found.append((experiment, load_results(folder / name)))
    return found


@pytest.fixture(scope="module")
def report(results, tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("report"), results, MAKING)


class Page(HTMLParser):
    """Elements with their attributes, and the text."""

    void = frozenset({"meta", "link", "img", "br"})

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attributes for each, attributes in self.elements if each == tag]


@pytest.fixture(scope="module")
def page(report):
    return Page(report.read_text("utf-8"))


def test_the_page_is_well_formed(page):
    assert page.open == []
    assert page.all("html") == [{"lang": "en"}]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_page_needs_nothing_else(report, page):
    sources = [each.get("src") or each.get("href") for _, each in page.elements]
    assert all(each.startswith(("data:", "#")) for each in sources if each)
    assert not page.all("script")
    styles = re.findall(r"<style>(.*?)</style>", report.read_text("utf-8"), re.S)
    assert "url(" not in "".join(styles)


def test_everything_is_said(page, results):
    text = " ".join(page.words)
    for part in ("V1 has about half of SAM's regret", "holds", "Measured over 300 rounds"):
        assert part in text
    for part in (COMMAND, "1 minute 23 seconds", "2 threads", "2024-05-06 07:08", "Seed"):
        assert part in text
    for name, version in versions().items():
        assert f"{name} {version}" in text
    for experiment, _ in results:
        assert experiment.title in text
        for posed in experiment.problems:
            assert posed.problem.name in text


def test_the_page_is_accessible(page):
    assert all(each["alt"].strip() for each in page.all("img"))
    assert all(each.get("scope") in ("col", "row") for each in page.all("th"))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    boxes = [each for each in page.all("div") if each.get("class") == "scroll"]
    assert len(boxes) == len(page.all("table")) == len(page.all("caption"))
    assert all(each["tabindex"] == "0" and each["aria-label"] for each in boxes)


def test_the_figures_lie_beside_the_page(report, results, page):
    drawn = sum(len(experiment.figures) for experiment, _ in results)
    assert len(page.all("img")) == drawn
    assert len(list((report.parent / "figures").iterdir())) == 3 * drawn


def test_the_same_results_give_the_same_page(report, results, tmp_path):
    again = write_report(tmp_path, results, MAKING)
    assert again.read_bytes() == report.read_bytes()


def test_the_limit_where_a_figure_asks_for_it(results, tmp_path, page):
    experiment, frame = results[0]
    figure = next(each for each in load_experiment("experiment-1").figures if each.kind == "limit")
    asked = dataclasses.replace(experiment, figures=(figure,))
    text = " ".join(Page(write_report(tmp_path, [(asked, frame)], MAKING).read_text()).words)
    limit = lower(experiment.problems[0].problem).regret(300)
    mean = frame.filter(problem="from_zero(2, 0.1)", policy="SAM", round=300)["regret"].mean()
    assert "Limit, c ln T" in text
    assert f" {limit:.1f} " in text
    assert f"× {mean / limit:.1f}" in text
    assert "Limit, c ln T" not in " ".join(page.words)


def test_nothing_to_report_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="at least one experiment"):
        write_report(tmp_path, [], MAKING)


@pytest.fixture(scope="module")
def browser():
    with chromium.browser() as started:
        yield started


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_in_a_real_browser(browser, report, tmp_path, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url[:60]))
    page.goto(report.as_uri())
    pictures = page.evaluate(
        "[...document.images].map("
        "i => [i.complete, i.naturalWidth, i.getBoundingClientRect().width])"
    )
    assert len(pictures) == 4
    for complete, natural, shown in pictures:
        assert complete
        assert natural > 0
        assert 300 < shown <= width
    # Tables scroll inside their own boxes; the page itself does not scroll sideways.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        "[...document.querySelectorAll('h1, h2, p, figure, .scroll, pre, dl')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert outside == 0
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert _contrast(page, "body") > 7
    assert _contrast(page, ".small") > 4.5
    shot = tmp_path / "report.png"
    page.screenshot(path=shot, full_page=True)
    assert shot.stat().st_size > 20_000
    page.close()


def _contrast(page, selector):
    """Contrast of the text against the page, as the accessibility guidelines count it."""
    colours = page.evaluate(
        "s => [getComputedStyle(document.querySelector(s)).color,"
        " getComputedStyle(document.body).backgroundColor]",
        selector,
    )
    low, high = sorted(_luminance(colour) for colour in colours)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour):
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
