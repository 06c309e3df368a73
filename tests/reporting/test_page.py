import dataclasses
import itertools
import re
from html.parser import HTMLParser

import pytest

from pairup import SAM, Oracle, Problem, Uniform, load_experiment, run_experiment
from pairup.bounds import lower
from pairup.errors import ResultsError
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.posed_problems import PosedProblem, sweep_problems
from pairup.experiments.results import Results
from pairup.experiments.storage import installed_versions
from pairup.experiments.timings import Timing
from pairup.experiments.toml_table import Table
from pairup.reporting.page import Provenance, write_report
from tests.support.browser import chromium
from tests.support.browser.contrast import contrast
from tests.support.pictures import missing_policies

COMMAND = "pairup reproduce --out 'my <results>' && echo \"done\""
PROVENANCE = Provenance(COMMAND, seconds=83.2, engine="2 threads", started="2024-05-06 07:08")


@pytest.fixture(scope="module")
def results():
    found = []
    for name in ("experiment-1", "experiment-2"):
        experiment = load_experiment(name).scaled(rounds=300, replications=3)
        # The paper's policies and a figure of each kind: enough to see, quick to draw.
        experiment = dataclasses.replace(
            experiment,
            problems=experiment.problems[:3],
            figures=(experiment.figures[0], experiment.figures[1]),
        )
        found.append(run_experiment(experiment))
    return found


@pytest.fixture(scope="module")
def report(results, field, tmp_path_factory):
    timings = {("tied", "policy 3"): Timing(12_345.6, 99)}
    every = [*results, dataclasses.replace(field, timings=timings)]
    return write_report(tmp_path_factory.mktemp("report"), every, PROVENANCE)


def write(folder, *results):
    return write_report(folder, results, PROVENANCE)


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


def test_the_page_has_claims_command_versions_titles_and_problems(page, results):
    text = " ".join(page.words)
    for part in ("V1 has about half of SAM's regret", "holds", "Measured over 300 rounds"):
        assert part in text
    for part in (COMMAND, "1 minute 23 seconds", "2 threads", "2024-05-06 07:08", "Seed"):
        assert part in text
    for name, version in installed_versions().items():
        assert f"{name} {version}" in text
    for each in results:
        assert each.experiment.title in text
        for posed in each.experiment.problems:
            assert posed.problem.name in text


def test_the_page_is_accessible(page):
    assert all(each["alt"].strip() for each in page.all("img"))
    assert all(each.get("scope") in ("col", "row", "colgroup") for each in page.all("th"))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    boxes = [each for each in page.all("div") if each.get("class") == "scroll"]
    assert len(boxes) == len(page.all("table")) == len(page.all("caption"))
    assert all(each["tabindex"] == "0" and each["aria-label"] for each in boxes)


def test_the_figures_lie_beside_the_page(report, results, field, page):
    drawn = sum(len(each.experiment.figures) for each in [*results, field])
    assert len(page.all("img")) == drawn
    assert len(list((report.parent / "figures").iterdir())) == 3 * drawn


def test_the_same_results_give_the_same_page(results, tmp_path):
    once, again = (write(tmp_path / each, *results).read_bytes() for each in ("once", "again"))
    assert once == again


def test_the_limit_where_a_figure_asks_for_it(results, tmp_path, page):
    experiment, frame = results[0].experiment, results[0].frame
    figure = next(each for each in load_experiment("experiment-1").figures if each.kind == "limit")
    asked = dataclasses.replace(experiment, figures=(figure,))
    text = " ".join(Page(write(tmp_path, Results(asked, frame)).read_text()).words)
    limit = lower(experiment.problems[0].problem).regret(300)
    mean = frame.filter(problem="from_zero(2, 0.1)", policy="SAM", round=300)["regret"].mean()
    assert "Limit, c ln T" in text
    assert f" {limit:.1f} " in text
    assert f"× {mean / limit:.1f}" in text
    assert "Limit, c ln T" not in " ".join(page.words)


LABELS = [f"policy {n}" for n in range(10)]


@pytest.fixture(scope="module")
def field():
    """Ten policies on two problems, one of which has no limit; eight of them are the same."""
    tied = Problem([0.9, 0.9, 0.5, 0.5, 0.5, 0.1], "tied")
    problems = (
        PosedProblem(Problem.from_zero(2, 0.1), "from_zero", {"pairs": 2, "gap": 0.1}),
        PosedProblem(tied, "rates", {"rates": 1}),
    )
    policies = [Oracle(), SAM(), *[Uniform()] * 8]
    entries = tuple(Entry(*each) for each in zip(LABELS, policies, strict=True))
    bars = FigureSpec("limit", "limit", "Times the limit")
    experiment = Experiment("f", "My field", "", 3_000, 3, 0, problems, entries, (bars,))
    return run_experiment(experiment)


def cells(page):
    """Give the cells of each row of the table of results by the policy's name."""
    table = re.search('<table class="finals">.*?</table>', page.read_text("utf-8"), re.S)
    rows = re.findall('<tr><th scope="row">(.*?)</th>(.*?)</tr>', table[0], re.S)
    return {
        name: [re.sub("<.*?>", " ", cell).strip() for cell in re.findall("<td.*?</td>", row, re.S)]
        for name, row in rows
    }


def test_many_policies_have_a_row_each(field, tmp_path):
    experiment, frame = field.experiment, field.frame
    rows = cells(write(tmp_path, field))
    assert next(iter(rows)) == "policy 0"
    assert set(rows) == set(LABELS)
    limit = lower(experiment.problems[0].problem).regret(3_000)
    for name, row in rows.items():
        rank, regret, times, *rest = row
        mine = frame.filter(problem="from_zero(2, 0.1)", policy=name, round=3_000)["regret"].mean()
        assert regret.split()[0] == f"{mine:,.0f}"
        assert times == f"{mine / limit:,.1f}"
        assert rank.isdigit()
        assert rest[2] == "–"  # without a limit
        assert len(row) == 6


def test_ties_of_many_policies_are_said_below_the_table(field, tmp_path):
    text = " ".join(Page(write(tmp_path, field).read_text("utf-8")).words)
    assert "No difference shown on tied, in the order of the regret:" in text
    assert "policy 2 and policy 3 … policy 9" in text
    assert not re.search("policy 0 and [^;.]*policy 2", text)


def test_timings_have_a_column_where_they_are_known(field, tmp_path):
    timings = {("from_zero(2, 0.1)", "policy 1"): Timing(1234.4, 99)}
    page = write_report(tmp_path, [dataclasses.replace(field, timings=timings)], PROVENANCE)
    rows = cells(page)
    assert rows["policy 1"][3] == "1,234"
    assert [row[3] for name, row in rows.items() if name != "policy 1"] == ["–"] * 9
    assert {row[7] for row in rows.values()} == {"–"}
    assert "at most about 0.3 s per policy" in page.read_text("utf-8")


def test_timings_give_few_policies_a_row_each(results, tmp_path):
    experiment = results[1].experiment
    assert "around(0.5, 4, 0.1)" in cells(write(tmp_path, results[1]))
    timings = {(experiment.problems[0].problem.name, "V2"): Timing(77.0, 5)}
    rows = cells(
        write_report(tmp_path, [dataclasses.replace(results[1], timings=timings)], PROVENANCE)
    )
    assert set(rows) == {entry.label for entry in experiment.entries}
    assert rows["V2"][3] == "77"


def test_a_page_on_single_problems_leaves_the_claims_out(field, results, tmp_path):
    alone = write(tmp_path, field).read_text("utf-8")
    assert "<h1>My field</h1>" in alone
    assert "claims" not in alone.split("</header>")[0].split("<header>")[1]
    assert "Claims of the paper" not in alone
    both = write(tmp_path, field, *results).read_text("utf-8")
    lone = write(tmp_path, *results).read_text("utf-8")
    findings = [
        re.search('<table class="claims">.*?</table>', page, re.S)[0] for page in (both, lone)
    ]
    assert findings[0] == findings[1]


def test_the_page_tells_the_outcome_of_the_horizon_check(page):
    assert "bit for bit: V1 yes, V2 yes" in " ".join(page.words)


def test_limits_are_computed_once(field, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "pairup.analysis.standings.lower", lambda problem: asked.append(problem) or lower(problem)
    )
    write(tmp_path, dataclasses.replace(field))  # nothing is known of a copy yet
    assert asked == [posed.problem for posed in field.experiment.problems]


def test_texts_of_an_experiment_cannot_add_markup(field, tmp_path):
    evil = "<script>alert('x')</script> & more"
    experiment = dataclasses.replace(field.experiment, title=evil, about=evil)
    text = write(tmp_path, Results(experiment, field.frame)).read_text("utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert" in text


@pytest.fixture(scope="module")
def sweep():
    """Two policies on six random problems, three instances of each number of players."""
    table = {"family": "random", "players": [3, 4], "seed": [0, 1, 2]}
    problems = tuple(sweep_problems([Table("", table)]))
    entries = (Entry("at random", Uniform()), Entry("best", Oracle()))
    swept = Experiment("s", "A sweep", "", 50, 2, 0, problems, entries, (), (), "seed")
    return run_experiment(swept)


def test_a_sweep_is_reported_by_groups_of_instances(sweep, tmp_path):
    path = write(tmp_path, sweep)
    assert list(cells(path)) == [f"random(players={n}, distribution=[1, 1])" for n in (3, 4)]
    text = " ".join(Page(path.read_text("utf-8")).words)
    assert "random(players=3, distribution=[1, 1]), 3 instances; random(players=4" in text
    assert "intervals are over instances" in text
    assert "Quantiles over instances" in text
    assert "seed=" not in text


def test_an_experiment_that_the_paper_does_not_speak_of_has_no_claims(sweep, tmp_path):
    text = write(tmp_path, sweep).read_text("utf-8")
    assert "<h1>A sweep</h1>" in text
    assert "Claims of the paper" not in text


def test_quantiles_are_listed_below_the_means(field, tmp_path):
    text = write(tmp_path, field).read_text("utf-8")
    table = re.search('<table class="spread">.*?</table>', text, re.S)[0]
    rows = re.findall('<tr><th scope="row">(.*?)</th><td>(.*?)</td>(.*?)</tr>', table, re.S)
    assert len(rows) == 2 * len(LABELS)
    largest = field.frame.filter(round=3_000, problem="tied", policy="policy 1")["regret"].max()
    values = {(problem, policy): rest for problem, policy, rest in rows}
    assert f">{largest:,.0f}</td>" in values["tied", "policy 1"]


def test_nothing_to_report_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="at least one experiment"):
        write_report(tmp_path, [], PROVENANCE)


@pytest.fixture(scope="module")
def browser():
    with chromium.browser() as started:
        yield started


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_all_of_the_page_and_fetches_nothing(
    browser, report, tmp_path, width, scheme
):
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
    assert len(pictures) == 5
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
    assert contrast(page, "body") > 7
    assert contrast(page, ".small") > 4.5
    for number in range(len(pictures)):
        shot = tmp_path / f"{number}.png"
        page.locator("img").nth(number).screenshot(path=shot)
        assert missing_policies(shot, ["the first policy"], few=10) == []
    page.close()
