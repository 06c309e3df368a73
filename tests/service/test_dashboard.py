"""The dashboard in a real browser, on a service in a process of its own."""

import itertools
import json
import re
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from pairup.client import Client
from pairup.client.simulated_players import Crowd, Habits, Pace, Simulation
from pairup.service.dashboard import panels, words
from pairup.service.domain.rules import Rules
from tests.support.browser import chromium
from tests.support.browser.contrast import contrast, luminance
from tests.support.service.running import Running

HABITS = Habits(churn=0.01, late=0.05, twice=0.1, contradict=0.1, away=0.02)
HOSTILE = [
    "<script>document.title = 'pwned'</script>",
    '"><img src=x onerror=document.title="pwned">',
    "</script><script>document.title='pwned'</script>",
    "{{ 7 * 7 }} {% raw %}",
    "<b>bold</b> & <a href='javascript:document.title=1'>x</a>",
    "%{customdata} $x^2$",
    "\u202egnp.exe",
    "x" * 128,
    "ünï çødé \U0001f3b2",
    "../../..%2f",
]
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("service"))
    with Client(running.url) as client:
        _simulate(client, "history", np.linspace(0.95, 0.05, 12), 90)
        client.propose("history")
        _simulate(client, "crowd", np.linspace(1.0, 0.1, 200), 3)
        client.create_pool("empty")
        client.create_pool("hostile", lifetime_s=3600)
        for player in HOSTILE:
            client.join("hostile", player)
        first, *rest = client.propose("hostile").games
        client.report(first.id, "played")
        client.report(rest[0].id, answers={rest[0].players[0]: "accepted"})
    yield running
    running.stop()


def _simulate(client, pool, rates, rounds):
    pace = Pace(lifetime_s=0.05)
    simulation = Simulation(client, pool, Crowd(rates, seed=1), HABITS, pace)
    list(itertools.islice(simulation, rounds))
    client.change_pool(pool, lifetime_s=3600)


@pytest.fixture
def client(service):
    with Client(service.url) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with chromium.browser() as started:
        yield started


class Opened:
    """A page, with what the browser said about it."""

    def __init__(self, browser, width=1280, scheme="light", **options):
        self.page = browser.new_page(
            viewport={"width": width, "height": 844}, color_scheme=scheme, **options
        )
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def go(self, url):
        self.page.goto(url)
        self.until("document.getElementById('live').dataset.state === 'live'")
        return self

    def until(self, condition):
        # Not Playwright's own way to wait, which the page's policy rightly refuses: it is an eval.
        deadline = time.monotonic() + 30
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, f"{condition}: {self.page.inner_text('body')}"
            self.page.wait_for_timeout(50)

    def value(self, selector):
        return float(self.page.get_attribute(selector, "value"))

    def text(self, selector):
        return self.page.inner_text(selector)


@pytest.fixture
def opened(browser):
    """Open pages that are closed after the test; none may leave a word in the console."""
    made = []

    def make(*arguments, **options):
        made.append(Opened(browser, *arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.page.close()


def fetch(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers, refused.read().decode()


def test_the_numbers_are_those_of_the_api(service, client, opened):
    shown = opened().go(f"{service.url}/pools/history")
    stats, learnt = client.stats("history").model_dump(), client.estimates("history").model_dump()
    for status, count in stats["players"].items():
        assert shown.value(f"#count-{status}") == count
    assert stats["players"]["proposed"] > 0
    found = stats["compared"]
    assert found["games"] > 100
    assert shown.value("#gain data") == found["gain"]["estimate"]
    assert shown.value("#played data") == found["played"]["estimate"]
    assert shown.value("#random data") == found["random"]
    assert shown.value("#best") == found["best"]
    assert f"{stats['played_share']['estimate']:.1%}" in shown.text("#played-ever")
    assert shown.text("#verdict") == words.verdict(stats)
    assert shown.text("#way") == words.way(stats)
    assert shown.value("#explored data") == stats["exploration"]["latest"]["share"]
    assert shown.value("#explored-ever data") == stats["exploration"]["share"]
    for part, counts in (
        ("cancelled", stats["games"]["cancelled"]),
        ("feedback", stats["feedback"]),
    ):
        rows = shown.page.eval_on_selector_all(f"#{part} data", "all => all.map(e => +e.value)")
        assert rows == list(counts.values())
    assert stats["feedback"]["late"] > 0
    names = shown.page.eval_on_selector_all("#rate-rows bdi", "all => all.map(e => e.textContent)")
    assert names == [each["player"] for each in learnt["players"]]
    rates = shown.page.eval_on_selector_all("#rate-rows data", "all => all.map(e => +e.value)")
    assert rates == [each["rate"] for each in learnt["players"]]
    games = shown.page.eval_on_selector_all(
        "#open-games tbody th",
        "all => all.map(row => [...row.querySelectorAll('bdi')].map(e => e.textContent))",
    )
    assert games == [game["players"] for game in stats["open_games"]]
    assert shown.said == []


def test_the_charts_draw_the_same_numbers(service, client, opened):
    shown = opened().go(f"{service.url}/pools/history")
    stats, learnt = (
        client.stats("history").model_dump(),
        client.estimates("history", limit=20_000).model_dump(),
    )
    drawn = shown.page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-chart]')].map("
        "each => [each.dataset.chart, each.data]))"
    )
    points = panels.points(stats["course"])
    *_, random, best, played = drawn["course"]
    assert best["y"] == [round(each.best, 4) for each in points]
    assert played["y"] == [round(each.share, 4) for each in points]
    assert random["y"] == [round(each.random, 4) for each in points]
    assert sum(each.played for each in points) == stats["games"]["played"]
    assert points[-1].last == stats["games"]["learnt"]
    (rates,) = drawn["rates"]
    assert rates["y"] == [round(each["rate"], 4) for each in learnt["players"]]
    (couples,) = drawn["couples"]
    place = {each["player"]: x for x, each in enumerate(learnt["players"])}
    for each in learnt["couples"]:
        one, other = (place[player] for player in each["players"])
        assert couples["z"][one][other] == couples["z"][other][one] == each["proposed"]
    shown.page.check("input[value=played]")
    (couples,) = shown.page.evaluate("document.querySelector('[data-chart=couples]').data")
    games = sum(each["played"] for each in learnt["couples"])
    assert sum(value or 0 for row in couples["z"] for value in row) == 2 * games


def test_what_happens_is_shown_at_once(service, client, opened):
    client.create_pool("live", lifetime_s=3600)
    shown = opened().go(f"{service.url}/pools/live")
    assert shown.value("#count-waiting") == 0
    assert "Nobody has joined" in shown.text("#rates-empty")
    for player in ("ann", "bob", "cleo"):
        client.join("live", player)
    shown.until("document.getElementById('count-waiting').value === '3'")
    shown.page.click("#rates ~ .card summary")
    game = client.propose("live", available=["ann", "bob"]).games[0]
    shown.until("document.getElementById('count-proposed').value === '2'")
    client.report(game.id, "played")
    shown.until("document.querySelector('#played data')?.value === '1.0'")
    shown.until("document.querySelector('[data-chart=course]').data?.length === 5")
    # What was opened stays open.
    assert shown.page.evaluate("document.querySelector('#rates ~ .card details').open")
    assert shown.said == []


def test_nothing_is_sent_again_while_nothing_happens(service, opened):
    shown = opened().go(f"{service.url}/pools/history")
    with shown.page.expect_response(lambda answer: answer.status == 304, timeout=30_000):
        pass


def test_it_goes_on_after_a_restart(tmp_path, opened):
    running = Running(tmp_path)
    try:
        with Client(running.url) as client:
            client.create_pool("chess")
            client.join("chess", "ann")
        shown = opened().go(f"{running.url}/pools/chess")
        running.kill()
        shown.until("document.getElementById('live').dataset.state === 'lost'")
        assert shown.text("#live") == "connection lost, trying again"
        assert shown.value("#count-waiting") == 1
        running.start()
        shown.until("document.getElementById('live').dataset.state === 'live'")
        with Client(running.url) as client:
            client.join("chess", "bob")
        shown.until("document.getElementById('count-waiting').value === '2'")
    finally:
        running.stop()


@pytest.mark.parametrize(
    ("path", "width", "scheme"),
    [
        *itertools.product(["/pools/history"], WIDTHS, SCHEMES),
        *(
            (path, *look)
            for path in ("/", "/pools/empty", "/pools/crowd", "/pools/hostile", "/pools/none")
            for look in zip(WIDTHS, SCHEMES, strict=True)
        ),
    ],
)
def test_every_page_has_room_andcontrast(service, opened, path, width, scheme, tmp_path):
    shown = opened(width, scheme).go(service.url + path)
    page = shown.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        "[...document.querySelectorAll('h1, h2, p, .card, .scroll, .tiles > div, .chart svg')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"
    )
    assert outside == []
    for selector in ("body", ".brand", "#live", "footer p", "a", ".soft", "summary"):
        if page.query_selector(selector):
            assert contrast(page, selector) > 4.5, selector
    missing = "status of 404 (Not Found)"
    assert [said for said in shown.said if missing not in said or path != "/pools/none"] == []
    assert {url.split("/")[2] for url in shown.asked if url.startswith("http")} == {
        service.url.split("/")[2]
    }
    page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert (tmp_path / "page.png").stat().st_size > 5_000


def test_a_change_of_scheme_is_drawn(service, opened):
    shown = opened().go(f"{service.url}/pools/history")
    colour = "document.querySelector('[data-chart=rates]').data[0].marker.color"
    light = shown.page.evaluate(colour)
    shown.page.emulate_media(color_scheme="dark")
    shown.until(f"{colour} !== '{light}'")


def test_names_are_shown_as_they_are(service, client, opened):
    shown = opened().go(f"{service.url}/pools/hostile")
    names = shown.page.eval_on_selector_all("#rate-rows bdi", "all => all.map(e => e.textContent)")
    assert sorted(names) == sorted(HOSTILE)
    ticks = shown.page.eval_on_selector_all(
        "[data-chart=rates] .xtick text", "all => all.map(e => e.textContent)"
    )
    short = [each if len(each) <= 14 else f"{each[:13]}…" for each in names]
    assert [_spaced(each) for each in ticks] == [_spaced(each) for each in short]
    chart = "document.querySelector('[data-chart=rates]')"
    for place, name in enumerate(names):
        point = f"[{{ curveNumber: 0, pointNumber: {place} }}]"
        told = json.dumps(_spaced(name))
        shown.until(  # again and again: Plotly leaves out what comes too fast
            f"(Plotly.Fx.hover({chart}, {point}), ({chart}.querySelector('.hovertext')?.textContent"
            f" ?? '').replaceAll('\u00a0', ' ').startsWith({told}))"
        )
    shown.page.check("input[value=share]")
    assert "pwned" not in shown.page.title()
    links = shown.page.eval_on_selector_all(
        "a", "all => all.map(e => e.getAttribute('href') ?? '')"
    )
    assert not [link for link in links if "javascript" in link]
    assert shown.page.query_selector("main img") is None
    assert len(shown.page.query_selector_all("script")) == 3
    assert shown.said == []


def _spaced(text):
    """Plotly writes a space as one that does not break."""
    return text.replace("\u00a0", " ")


def test_everything_is_reached_by_keyboard(service, opened):
    shown = opened().go(f"{service.url}/pools/history")
    page, reached = shown.page, []
    for _ in range(40):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => { const e = document.activeElement, box = e.getBoundingClientRect();
                return [e.tagName, e.textContent.trim().slice(0, 30) || e.value || e.ariaLabel,
                    getComputedStyle(e).outlineStyle, box.width > 0 && box.left >= 0]; }"""
        )
        if found[0] == "BODY":
            break
        reached.append(found)
        if found[0] == "SUMMARY":
            page.keyboard.press("Enter")
    assert all(each[2] == "solid" and each[3] for each in reached), reached
    words = [each[1] for each in reached]
    assert words[:4] == ["Skip to the content", "pairup", "Pools", "API"]
    assert [each[0] for each in reached].count("SUMMARY") == 3
    assert "proposed" in words  # the group of radio buttons
    regions = page.evaluate("document.querySelectorAll('.scroll').length")
    assert [each[0] for each in reached].count("DIV") == regions == 4
    assert page.evaluate("[...document.querySelectorAll('details')].every(e => e.open)")


def test_the_skip_link_leads_to_the_content(service, opened):
    shown = opened().go(f"{service.url}/pools/history")
    shown.page.keyboard.press("Tab")
    shown.page.keyboard.press("Enter")
    assert shown.page.evaluate("document.activeElement.id") == "main"


def test_focus_stays_where_it_is_while_the_page_changes(service, client, opened):
    client.create_pool("aaa")
    shown = opened().go(service.url)
    shown.page.focus("#pool-aaa")
    client.join("aaa", "ann")
    shown.until("document.querySelector('#pools tbody tr').innerText.includes('1')")
    assert shown.page.evaluate("document.activeElement.id") == "pool-aaa"
    shown.page.keyboard.press("Enter")
    shown.page.wait_for_url("**/pools/aaa")


def test_without_a_pool_the_page_says_what_to_do(tmp_path, opened):
    running = Running(tmp_path)
    try:
        shown = opened().go(running.url)
        assert "There is no pool yet." in shown.text("main")
        assert "pairup simulate-players" in shown.text("main")
        with Client(running.url) as client:
            client.create_pool("chess")
        shown.until("document.getElementById('pool-chess') !== null")
        assert shown.said == []
    finally:
        running.stop()


def test_a_pool_that_is_deleted_is_gone(service, client, opened):
    client.create_pool("short")
    shown = opened().go(f"{service.url}/pools/short")
    client.delete_pool("short")
    shown.until("document.body.dataset.page === 'refusal'")
    assert "no pool is called 'short'" in shown.text("main")
    client.create_pool("short")
    shown.until("document.body.dataset.page === 'pool'")


def test_a_page_says_as_much_without_scripts(service, client, opened):
    shown = opened(java_script_enabled=False)
    shown.page.goto(f"{service.url}/pools/history")
    assert shown.text("h1") == "history"
    stats = client.stats("history").model_dump()
    assert f"{stats['compared']['played']['estimate']:.1%}" in shown.text("#played")
    assert re.search(r"in \d+ (s|min)", shown.text("#open-games tbody"))
    assert shown.text("#live") == "as of loading"


def test_the_key_is_asked_for_once(tmp_path, opened):
    running = Running(tmp_path, keys="required")
    try:
        with Client(running.url, running.admin) as client:
            client.create_pool("chess")
            client.create_pool("secret")
        reader = running.key("chess:read")
        shown = opened()
        page = shown.page
        page.goto(f"{running.url}/pools/chess")
        assert page.evaluate("document.activeElement.id") == "key"
        assert "chess" not in shown.text("main")
        page.fill("#key", "pairup_wrong")
        page.keyboard.press("Enter")
        shown.until("document.querySelector('[role=alert]') !== null")
        page.fill("#key", reader)
        page.keyboard.press("Enter")
        shown.until("document.body.dataset.page === 'pool'")
        shown.until("document.getElementById('live').dataset.state === 'live'")
        page.goto(running.url)
        shown.until("document.getElementById('pool-chess') !== null")
        assert "secret" not in shown.text("main")
        page.goto(f"{running.url}/pools/secret")
        shown.until("document.body.dataset.page === 'refusal'")
        assert "does not allow 'read'" in shown.text("main")
        assert not [url for url in shown.asked if reader in url]
        page.click("#forget")
        shown.until("document.body.dataset.page === 'key'")
        assert page.evaluate("sessionStorage.length") == 0
    finally:
        running.stop()


def test_headers(service):
    status, headers, body = fetch(f"{service.url}/pools/hostile")
    assert status == 200
    policy = dict(
        part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    inline = re.findall(r"<script(?![^>]*\bsrc=)([^>]*)>", body)
    assert inline == [' type="application/json" id="charts" data-live']
    assert not re.search(r"<[^>]+\son\w+=", re.sub(r"<script.*?</script>", "", body, flags=re.S))
    data = re.search(r'id="charts" data-live>(.*?)</script>', body, re.S)[1]
    assert sorted(json.loads(data)["rates"]["players"]) == sorted(HOSTILE)
    tag = headers["ETag"]
    assert fetch(f"{service.url}/pools/hostile", **{"If-None-Match": tag})[0] == 304


def test_scripts_are_sent_packed_and_kept(service):
    _, _, body = fetch(service.url + "/pools/empty")
    paths = re.findall(r'(?:src|href)="(/dashboard/[^"]+)"', body)
    assert len(paths) == 3
    for path in paths:
        status, headers, text = fetch(service.url + path)
        assert (status, headers["Content-Encoding"]) == (200, None)
        assert "immutable" in headers["Cache-Control"]
        assert len(text) > 2_000
    assert fetch(f"{service.url}/dashboard/routes.py")[0] == 404
    assert fetch(f"{service.url}/dashboard/..%2froutes.py")[0] == 404


def test_another_host_is_refused_with_a_page(service):
    status, headers, body = fetch(service.url, Host="evil.example")
    assert status == 403
    assert headers["Content-Type"].startswith("text/html")
    assert "evil.example" in body


def test_points_join_buckets():
    def bucket(index, games, played, random, best=0.5):
        counted = {"index": index, "games": games, "played": played}
        return {**counted, "random": random, "best": best}

    assert panels.points({"width": 1, "buckets": []}) == []
    buckets = [bucket(k, 1, k % 2, None if k < 5 else 0.5) for k in range(12)]
    (only,) = panels.points({"width": 1, "buckets": buckets})
    assert (only.first, only.last, only.played, only.share, only.random) == (1, 12, 6, 0.5, 0.5)
    assert only.best == 0.5
    many = [bucket(64 * k, 64, 16, 0.1) for k in range(128)]
    points = panels.points({"width": 64, "buckets": many})
    assert [each.first for each in points[:3]] == [1, 513, 1025]  # 8 buckets: 5 roots of 8,192
    assert {(each.played, each.share) for each in points} == {(128, 0.25)}
    huge = [bucket(4096 * k, 4096, 1024, 0.1) for k in range(128)]
    assert len(panels.points({"width": 4096, "buckets": huge})) <= 24


def _stats(games, gain, way=None):
    low, high = gain
    found = {"games": games, "gain": {"low": low, "estimate": (low + high) / 2, "high": high}}
    return {
        "policy": "rank_one_thompson",
        "games": {"learnt": 2 * games},
        "played_share": {"estimate": 0.5},
        "compared": found | {"of_the_way": way},
    }


@pytest.mark.parametrize(
    ("stats", "said"),
    [
        (_stats(400, (0.1, 0.2)), "More games are played than random pairing of the same players"),
        (_stats(400, (-0.2, -0.1)), "Fewer games"),
        (_stats(400, (-0.1, 0.2)), "No difference"),
        (_stats(400, (0.1, 0.2)), "the latest 400 of 800 games"),
        (_stats(99, (0.1, 0.2)), "Too early"),
        (_stats(400, (0.1, 0.2)) | {"compared": None}, "Nothing is claimed"),
        (_stats(0, (0, 0)) | {"played_share": None, "compared": None}, "No game"),
    ],
)
def test_the_verdict_goes_by_the_interval_of_the_gain(stats, said):
    assert said in words.verdict(stats)


@pytest.mark.parametrize(
    ("way", "said"),
    [(None, "too early"), (0.643, "64% of the way"), (-0.2, "0% of"), (1.1, "all the way")],
)
def test_how_far_it_came_is_said(way, said):
    assert said in words.way(_stats(400, (0.1, 0.2), way))


def test_shares_of_feedback_are_of_what_it_is_about():
    stats = {
        "reports": 40,
        "games": {"proposed": 10, "expired": 4, "released": {"released": 1, "left": 1}},
        "feedback": {"late": 3, "repeated": 30, "contradicting": 1, "missing": 2, "noted": 0},
    }
    shares = {each.name: each.share for each in panels.feedback(stats)}
    expected = {"late": 3 / 6, "twice": 30 / 40, "contradicting": 1 / 40, "missing": 2 / 4}
    assert shares == {**expected, "added later": 0.0}


def test_a_game_that_is_reported_often_fills_no_bar_beyond_its_end(service, client, opened):
    client.create_pool("eager", lifetime_s=3600)
    for player in ("ann", "bob"):
        client.join("eager", player)
    (game,) = client.propose("eager").games
    for _ in range(5):
        client.report(game.id, "played")
    shown = opened().go(f"{service.url}/pools/eager")
    shares = shown.page.eval_on_selector_all(
        "#feedback tr td:nth-child(3)", "all => all.map(e => e.textContent)"
    )
    assert shares == ["0.0%", "80.0%", "0.0%", "0.0%", "0.0%"]
    assert shown.text("#verdict").startswith("Too early to say: 1 games")


def test_the_rules_of_the_pool_are_said(service, client, opened):
    client.create_pool("ruled", lifetime_s=45)
    shown = opened().go(f"{service.url}/pools/ruled")
    assert words.rules(Rules(lifetime_s=45)) in " ".join(shown.text("#about").split())
    assert "discards games that expire" in shown.text("#cancelled")
    news = {"unreported": "cancelled", "after_game": "playing", "timeout_declines": True}
    client.change_pool("ruled", **news)
    shown.until("document.getElementById('cancelled').innerText.includes('counts that as')")
    told = " ".join(shown.text("#about").split())
    for each in (
        "open for 45 s",
        "counted as cancelled",
        "play until",
        "is taken to have declined",
    ):
        assert each in told


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_moves_when_a_matching_ends(service, client, opened, width):
    still = f"still-{width}"
    client.create_pool(still, lifetime_s=3600)
    for number in range(24):
        client.join(still, f"p{number}")
    for game in client.propose(still).games:
        client.report(game.id, "played")
    games = client.propose(still).games
    shown = opened(width).go(f"{service.url}/pools/{still}")
    top = "Math.round(document.getElementById('rates').getBoundingClientRect().top + scrollY)"
    before = shown.page.evaluate(top)
    assert shown.page.evaluate("document.querySelectorAll('#open-games .over').length") == 0
    box = "document.querySelector('#open-games .scroll')"
    assert shown.page.evaluate(f"{box}.scrollHeight > {box}.clientHeight")
    shades = shown.page.evaluate(f"getComputedStyle({box}).backgroundAttachment")
    assert shades.startswith("local, local, scroll, scroll")
    for count, game in enumerate(games, 1):
        client.report(game.id, "cancelled")
        if count in (5, 12):
            rows = "document.querySelectorAll('#open-games .over').length"
            shown.until(f"{rows} === {count}")
            assert shown.page.evaluate(top) == before
    assert "None is open: the last matching." in shown.text("#open-games")
    states = shown.page.eval_on_selector_all(
        "#open-games tr.over td:last-child", "all => all.map(e => e.textContent)"
    )
    assert states == ["cancelled (unstated)"] * 12


def test_open_games_of_earlier_matchings_are_listed_first(service, client, opened):
    client.create_pool("two", lifetime_s=3600)
    for player in "abcd":
        client.join("two", player)
    client.propose("two", available=["a", "b"])
    client.propose("two", available=["c", "d"])
    shown = opened().go(f"{service.url}/pools/two")
    couples = shown.page.eval_on_selector_all(
        "#open-games tbody th", "all => all.map(e => e.textContent)"
    )
    assert couples == ["a – b", "c – d"]


def test_it_is_counted_how_long_a_game_is_open_still(service, client, opened):
    client.create_pool("brief", lifetime_s=60)
    for player in ("ann", "bob"):
        client.join("brief", player)
    (game,) = client.propose("brief").games
    shown = opened().go(f"{service.url}/pools/brief")
    left = "Number(document.querySelector('#open-games time').textContent.match(/in (\\d+) s/)[1])"
    first = shown.page.evaluate(left)
    assert 0 < first <= 60
    shown.until(f"{left} < {first}")
    expiry = game.expires_at
    title = shown.page.get_attribute("#open-games time", "title")
    assert title == f"expires {expiry[:10]} {expiry[11:19]} UTC"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_charts_say_what_they_show(service, opened, scheme):
    shown = opened(scheme=scheme).go(f"{service.url}/pools/history")
    chart = "document.querySelector('[data-chart={}]')"
    for name, title in (("course", "share of games"), ("rates", "acceptance rate")):
        axis = f"{chart.format(name)}.layout.yaxis"
        assert shown.page.evaluate(f"{axis}.title.text") == title
    assert shown.page.evaluate(f"{chart.format('rates')}.layout.xaxis.zeroline") is False
    names = shown.page.eval_on_selector_all(
        "[data-chart=course] .legendtext", "all => all.map(e => e.textContent)"
    )
    assert sorted(names) == ["best matching", "played", "random pairing"]
    shown.page.check("input[value=played]")
    (map_,) = shown.page.evaluate(f"{chart.format('couples')}.data")
    zero, _, least, most = (colour for _, colour in map_["colorscale"])
    card = shown.page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")
    seen = [luminance(_written(colour)) for colour in (zero, least, most)] + [luminance(card)]
    assert len({round(each, 2) for each in seen}) == 4
    assert 0 in [value for row in map_["z"] for value in row]
    assert map_["colorbar"]["title"]["text"] == "games played"
    ticks = shown.page.eval_on_selector_all(
        "[data-chart=couples] .cbaxis text", "all => all.map(e => e.textContent)"
    )
    assert len(ticks) > 1
    assert all(each.isdigit() for each in ticks)
    assert "Empty: never proposed" in shown.text("#map-key")


def _written(colour):
    return " ".join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))


def test_a_phone_has_room_for_the_tables(service, opened):
    shown = opened(390).go(service.url)
    box = "document.querySelector('#pools .scroll')"
    assert shown.page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")
    shown.go(f"{service.url}/pools/history")
    box = "document.querySelector('#open-games .scroll')"
    assert shown.page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")
    lines = shown.page.eval_on_selector_all(
        "#open-games bdi", "all => all.map(e => e.getClientRects().length)"
    )
    assert set(lines) == {1}
    shown.go(f"{service.url}/pools/crowd")
    titles = "[data-chart=couples] .xtitle, [data-chart=couples] .ytitle"
    told = shown.page.eval_on_selector_all(titles, "all => all.map(e => e.textContent)")
    assert told == ["players, the best first"] * 2
