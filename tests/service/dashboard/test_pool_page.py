"""The page of a pool in a real browser: its numbers, charts, rules and games."""

import json
import re

import pytest

from pairup.service.dashboard import sentences
from pairup.service.dashboard.charts import course_points
from pairup.service.domain.matchmaking.rules import Rules
from tests.support.browser.contrast import luminance


def test_the_numbers_are_those_of_the_api(service, client, opened):
    shown = opened().go(f"{service.url}/pools/history")
    stats, estimates = client.stats("history"), client.estimates("history")
    for status, count in stats.players:
        assert shown.value(f"#count-{status}") == count
    assert stats.players.proposed > 0
    found = stats.compared
    assert found.games > 100
    assert shown.value("#gain data") == found.gain.estimate
    assert shown.value("#played data") == found.played.estimate
    assert shown.value("#random data") == found.random
    assert shown.value("#best") == found.best
    assert f"{stats.played_share.estimate:.1%}" in shown.text("#played-ever")
    assert shown.text("#verdict") == sentences.verdict(stats)
    assert shown.text("#progress") == sentences.progress(stats)
    assert shown.value("#explored data") == stats.exploration.latest.share
    assert shown.value("#explored-ever data") == stats.exploration.share
    for part, counts in (("cancelled", stats.games.cancelled), ("feedback", stats.feedback)):
        assert shown.values(f"#{part} data") == [count for _, count in counts]
    assert stats.feedback.late > 0
    assert shown.texts("#rate-rows bdi") == [each.player for each in estimates.players]
    assert shown.values("#rate-rows data") == [each.rate for each in estimates.players]
    games = shown.page.eval_on_selector_all(
        "#open-games tbody th",
        "all => all.map(row => [...row.querySelectorAll('bdi')].map(e => e.textContent))",
    )
    assert games == [game.players for game in stats.open_games]
    assert shown.said == []


def test_the_charts_draw_the_same_numbers(service, client, opened):
    shown = opened().go(f"{service.url}/pools/history")
    stats, estimates = client.stats("history"), client.estimates("history", limit=20_000)
    drawn = shown.page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-chart]')].map("
        "each => [each.dataset.chart, each.data]))"
    )
    points = course_points(stats.course)
    *_, random, best, played = drawn["course"]
    assert best["y"] == [round(each.best, 4) for each in points]
    assert played["y"] == [round(each.share, 4) for each in points]
    assert random["y"] == [round(each.random, 4) for each in points]
    assert sum(each.played for each in points) == stats.games.played
    assert points[-1].last == stats.games.learnt
    by_tenth, shares = drawn["tenths"], shown.values("#tenth-rows data")
    assert by_tenth[1]["y"] == [round(each, 4) for each in shares]
    assert len(shares) >= 8  # a newcomer has had no game yet, and may be the only one of a tenth
    assert by_tenth[1]["y"][0] < by_tenth[1]["y"][-1]
    (rates,) = drawn["rates"]
    assert rates["y"] == [round(each.rate, 4) for each in estimates.players]
    (couples,) = drawn["couples"]
    place = {each.player: x for x, each in enumerate(estimates.players)}
    for each in estimates.couples:
        one, other = (place[player] for player in each.players)
        assert couples["z"][one][other] == couples["z"][other][one] == each.proposed
    shown.page.check("input[value=played]")
    (couples,) = shown.page.evaluate("document.querySelector('[data-chart=couples]').data")
    games = sum(each.played for each in estimates.couples)
    assert sum(value or 0 for row in couples["z"] for value in row) == 2 * games


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_name_what_they_show(service, opened, scheme):
    shown = opened(scheme=scheme).go(f"{service.url}/pools/history")
    chart = "document.querySelector('[data-chart={}]')"
    titles = {"course": "share of games", "tenths": "share of games", "rates": "acceptance rate"}
    for name, title in titles.items():
        axis = f"{chart.format(name)}.layout.yaxis"
        assert shown.page.evaluate(f"{axis}.title.text") == title
    assert shown.page.evaluate(f"{chart.format('rates')}.layout.xaxis.zeroline") is False
    assert sorted(shown.texts("[data-chart=course] .legendtext")) == [
        "best matching",
        "played",
        "random pairing",
    ]
    shown.page.check("input[value=played]")
    (map_,) = shown.page.evaluate(f"{chart.format('couples')}.data")
    zero, _, least, most = (colour for _, colour in map_["colorscale"])
    card = shown.page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")
    seen = [luminance(_written(colour)) for colour in (zero, least, most)] + [luminance(card)]
    assert len({round(each, 2) for each in seen}) == 4
    assert 0 in [value for row in map_["z"] for value in row]
    assert map_["colorbar"]["title"]["text"] == "games played"
    ticks = shown.texts("[data-chart=couples] .cbaxis text")
    assert len(ticks) > 1
    assert all(each.isdigit() for each in ticks)
    assert "Empty: never proposed" in shown.text("#map-key")


def _written(colour):
    return " ".join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))


def test_names_are_shown_as_they_are(service, opened, hostile):
    shown = opened().go(f"{service.url}/pools/hostile")
    names, ticks = shown.texts("#rate-rows bdi"), shown.texts("[data-chart=rates] .xtick text")
    assert sorted(names) == sorted(hostile)
    short = [each if len(each) <= 14 else f"{each[:13]}…" for each in names]
    assert [_spaced(each) for each in ticks] == [_spaced(each) for each in short]
    chart = "document.querySelector('[data-chart=rates]')"
    for place, name in enumerate(names):
        point = f"[{{ curveNumber: 0, pointNumber: {place} }}]"
        told = json.dumps(_spaced(name))
        shown.until(  # again and again: Plotly skips events that come too fast
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
    assert len(shown.page.query_selector_all("script")) == 4
    assert shown.said == []


def _spaced(text):
    """Plotly writes a space as one that does not break."""
    return text.replace("\u00a0", " ")


def test_bars_of_repeated_reports_stay_within_the_whole(service, client, opened):
    client.create_pool("eager", lifetime_s=3600)
    for player in ("ann", "bob"):
        client.join("eager", player)
    (game,) = client.propose("eager").games
    for _ in range(5):
        client.report(game.id, "played")
    shown = opened().go(f"{service.url}/pools/eager")
    assert shown.texts("#feedback tr td:nth-child(3)") == ["0.0%", "80.0%", "0.0%", "0.0%", "0.0%"]
    assert shown.text("#verdict").startswith("Too early to say: 1 game can")


def test_the_rules_of_the_pool_are_shown(service, client, opened):
    client.create_pool("ruled", lifetime_s=45)
    shown = opened().go(f"{service.url}/pools/ruled")
    assert sentences.rules(Rules(lifetime_s=45)) in " ".join(shown.text("#about").split())
    assert "discards expired games" in shown.text("#cancelled")
    news = {"unreported": "cancelled", "after_game": "playing", "timeout_declines": True}
    client.change_pool("ruled", **news)
    shown.until("document.getElementById('cancelled').innerText.includes('pool counts as')")
    told = " ".join(shown.text("#about").split())
    for each in (
        "open for 45 s",
        "counts as cancelled",
        "play until",
        "times out counts as declining",
    ):
        assert each in told


def test_a_pool_in_shadow_shows_what_it_would_have_gained(service, client, opened):
    client.create_pool("watched", mode="shadow")
    shown = opened().go(f"{service.url}/pools/watched")
    assert "in shadow: it proposes nothing" in shown.text("#about")
    client.observe("watched", [{"players": ["ann", "bob"], "outcome": "played"}])
    shown.until("document.getElementById('shadow').innerText.includes('latest 1 games')")
    assert sentences.shadow(client.stats("watched").shadow) in shown.text("#shadow")


def test_open_games_of_earlier_matchings_are_listed_first(service, client, opened):
    client.create_pool("two", lifetime_s=3600)
    for player in "abcd":
        client.join("two", player)
    client.propose("two", available=["a", "b"])
    client.propose("two", available=["c", "d"])
    shown = opened().go(f"{service.url}/pools/two")
    assert shown.texts("#open-games tbody th") == ["a – b", "c – d"]


def test_the_time_until_a_game_expires_is_counted_down(service, client, opened):
    client.create_pool("brief", lifetime_s=60)
    for player in ("ann", "bob"):
        client.join("brief", player)
    (game,) = client.propose("brief").games
    shown = opened().go(f"{service.url}/pools/brief")
    left = "Number(document.querySelector('#open-games time').textContent.match(/in (\\d+) s/)[1])"
    first = shown.page.evaluate(left)
    assert 0 < first <= 60
    shown.until(f"{left} < {first}")
    title = shown.page.get_attribute("#open-games time", "title")
    assert title == f"expires {game.expires_at:%Y-%m-%d %H:%M:%S} UTC"


def test_a_page_without_scripts_has_all_numbers(service, client, opened):
    shown = opened(java_script_enabled=False)
    shown.page.goto(f"{service.url}/pools/history")
    assert shown.text("h1") == "history"
    assert f"{client.stats('history').compared.played.estimate:.1%}" in shown.text("#played")
    assert re.search(r"in \d+ (s|min)", shown.text("#open-games tbody"))
    assert shown.text("#live") == "as loaded"


def test_how_long_players_have_waited_is_counted_on(service, client, opened):
    client.create_pool("patient")
    shown = opened().go(f"{service.url}/pools/patient")
    assert shown.text("#waits") == "Nobody waits."
    client.join("patient", "ann")
    shown.until("document.querySelectorAll('#waits time').length === 3")
    longest = "Number(document.querySelector('#waits time:last-of-type').textContent.split(' ')[0])"
    first = shown.page.evaluate(longest)
    shown.until(f"{longest} > {first}")


def test_players_beyond_the_first_page_are_reached_by_links(service, client, opened):
    client.create_pool("many")
    client.put_players("many", {f"p{number:04}": "away" for number in range(2_100)})
    shown = opened().go(f"{service.url}/pools/many")
    seen = set()
    for words, following in (
        ("Players 1 to 1,000 of 2,100", "#rates-after"),
        ("Players 1,001 to 2,000 of 2,100", "#rates-after"),
        ("Players 2,001 to 2,100 of 2,100", "#rates-before"),
    ):
        assert shown.text("#rate-pages").startswith(words)
        seen |= set(shown.texts("#rate-rows bdi"))
        shown.go(service.url + shown.page.get_attribute(following, "href"))
    assert len(seen) == 2_100
    assert shown.text("#rate-pages").startswith("Players 1,001")
    shown.go(f"{service.url}/pools/many?first=99999")
    assert shown.text("#rate-pages").startswith("Players 2,001")


def test_the_list_of_pools_shows_the_gain_with_its_interval(service, client, opened):
    shown, gain = opened().go(service.url), client.stats("history").compared.gain
    row = "document.getElementById('pool-history').closest('tr')"
    told = shown.page.evaluate(f"{row}.lastElementChild.innerText").split("\n")
    ends = f"{sentences.in_points(gain.low)} to {sentences.in_points(gain.high)}"
    assert [each.strip() for each in told] == [sentences.in_points(gain.estimate), ends]


def test_who_could_not_be_matched_is_shown_with_the_constraint(service, client, opened):
    near = {"kind": "distance", "attribute": "rating", "at_most": 100}
    worth = {"kind": "distance", "attribute": "rating", "half_at": 10}
    client.create_pool("near", lifetime_s=3600, constraints=[near], worth=[worth])
    for number, rating in enumerate((1000, 1010, 1020, 1500)):
        client.join("near", f"p{number}", attributes={"rating": rating})
    shown = opened().go(f"{service.url}/pools/near")
    assert "their rating differs by at most 100" in shown.text("#about")
    assert (shown.text("#unmatched"), shown.text("#worth")) == ("", "")
    client.propose("near")
    shown.until("document.querySelectorAll('#unmatched data').length === 2")
    assert shown.values("#unmatched data") == [1, 1]
    names = "all => all.map(each => each.firstChild.textContent)"
    found = shown.page.eval_on_selector_all("#unmatched tbody th", names)
    assert sorted(found) == ["distance:rating", "odd"]
    stats = client.stats("near")
    assert stats.unmatched == {"odd": 1, "distance:rating": 1}
    assert shown.values("#worth data") == [stats.worth] == [0.5]
    assert shown.text("#worth") == "A proposed game has been worth 0.5 on average."
