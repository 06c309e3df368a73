"""What was played against random pairing and the best matching of the players who were there."""

import itertools
import random

import pytest

from pairup.policies import RankOneThompson
from pairup.service.api.schemas.insight import StatsView
from pairup.service.dashboard import sentences
from pairup.service.domain.counters import Bucket, Counters, compare, latest_games
from pairup.service.domain.estimates import forecast_pairings


class Evening:
    """Players with true rates who answer every proposal at once."""

    def __init__(self, api, seed=0, **rules):
        self.api, self.draw, self.rates = api, random.Random(seed), {}
        api.pool(**rules)

    def come(self, prefix, rates):
        for number, rate in enumerate(rates):
            self.rates[f"{prefix}{number}"] = rate
            self.api.join(f"{prefix}{number}")

    def go(self):
        for player in self.rates:
            self.api("DELETE", f"/v1/pools/chess/players/{player}", 204)
        self.rates.clear()

    def play(self, rounds):
        for _ in range(rounds):
            sent = [
                {"game": game["id"], "answers": {p: self._answer(p) for p in game["players"]}}
                for game in self.api.propose()["games"]
            ]
            self.api.json("POST", "/v1/pools/chess/outcomes", json={"outcomes": sent})
        return self.api.stats()

    def _answer(self, player):
        return "accepted" if self.draw.random() < self.rates[player] else "declined"


def log_of(api):
    with api.service.store.reading() as transaction:
        return list(transaction.events(api.service.pool_number("chess")))


def test_a_proposal_estimates_what_other_pairings_would_give(lone):
    evening = Evening(lone)
    evening.come("p", [0.9, 0.7, 0.5, 0.3, 0.1])
    evening.play(6)
    assert lone.propose()["waiting"] != []
    players = lone.json("GET", "/v1/pools/chess/estimates")["players"]
    rates = [each["rate"] for each in players]
    event = log_of(lone)[-1].event
    couples = [one * other for one, other in itertools.combinations(rates, 2)]
    best = (rates[0] * rates[1] + rates[2] * rates[3]) / 2
    assert event.random == pytest.approx(sum(couples) / 10, abs=1e-6)  # stored in six decimals
    assert event.best == pytest.approx(best, abs=1e-6)
    assert 0 < event.random_deviation < 0.3


def test_the_course_sums_up_the_log(lone):
    evening = Evening(lone)
    evening.come("p", [0.9, 0.7, 0.5, 0.3])
    stats = evening.play(100)
    told, rows = {}, []
    for recorded in log_of(lone):
        event = recorded.event
        if event.kind == "proposed":
            games = enumerate(event.games)
            told |= {(event.matching, place): (event, each["explores"]) for place, each in games}
        if event.kind == "decided":
            for game, played in zip(event.games, event.played, strict=True):
                proposed, explores = told[tuple(game)]
                rows.append((played, explores, proposed.random, proposed.best))
    buckets = stats["course"]["buckets"]
    assert stats["course"]["width"] == 2
    assert len(rows) == 200
    for each in buckets:
        played, explored, at_random, best = zip(
            *rows[each["index"] :][: each["games"]], strict=True
        )
        assert (each["played"], each["explored"]) == (sum(played), sum(explored))
        assert each["random"] == pytest.approx(sum(at_random) / len(played))
        assert each["best"] == pytest.approx(sum(best) / len(played))
    explored = sum(row[1] for row in rows[-100:])
    assert stats["exploration"]["latest"] == {
        "explored": explored,
        "games": 100,
        "share": explored / 100,
    }
    found = stats["compared"]
    assert found["games"] == 100
    assert found["played"]["estimate"] == pytest.approx(sum(row[0] for row in rows[-100:]) / 100)
    assert found["random"] == pytest.approx(sum(row[2] for row in rows[-100:]) / 100)
    assert found["best"] == pytest.approx(sum(row[3] for row in rows[-100:]) / 100)
    assert found["gain"]["estimate"] == pytest.approx(found["expected"] - found["random"])


def test_a_change_of_players_is_not_a_gain(lone):
    evening = Evening(lone)
    evening.come("good", [0.95] * 8)
    evening.play(60)
    evening.go()
    evening.come("bad", [0.1] * 8)
    stats = evening.play(20)
    # Against random pairing of those who are here now, all games ever would look splendid.
    assert stats["played_share"]["low"] > stats["random_share"]["high"] + 0.3
    gain = stats["compared"]["gain"]
    assert gain["low"] < 0 < gain["high"]
    assert "No difference" in sentences.verdict(StatsView.model_validate(stats))


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8, 0.95])
def test_a_gain_is_rarely_claimed_where_all_players_are_alike(rate):
    """Nobody gains there; that 1/2 is guessed of players at first must not look like it."""
    claims = 0
    for seed in range(20):
        gain = compare(_alike(rate, seed, rounds=40).buckets).gain
        claims += not gain["low"] < 0 < gain["high"]
    assert claims <= 2


def _alike(rate, seed, rounds):
    draw, counters, met = random.Random(seed), Counters(), dict.fromkeys("abcdefghijklmnop", 0)
    learner = RankOneThompson().learner(list(met), seed=seed)
    for _ in range(rounds):
        matching = learner.propose()
        expected = forecast_pairings(learner, met, list(met), matching)
        for couple, chance in zip(matching, learner.play_probabilities(matching), strict=True):
            accepted = {player: draw.random() < rate for player in couple}
            played = all(accepted.values())
            learner.observe([couple], [played], accepted=accepted)
            counters.decide([(played, False, chance, expected)])
            for player in couple:
                met[player] += 1
    return counters


@pytest.mark.parametrize(("churn", "widest"), [(0.0, 0.02), (0.01, 0.04)])
def test_the_gain_of_players_who_differ_a_little_is_known_well(churn, widest):
    """Beta(5, 2) and 12,000 games: by the games played alone it would be known to 2.4 points."""
    covered, widths = 0, []
    for seed in range(10):
        counters, truth = _differing(seed, churn)
        gain = compare(counters.buckets).gain
        covered += gain["low"] <= truth <= gain["high"]
        widths.append(gain["high"] - gain["low"])
    assert covered >= 9
    assert 0.005 < sum(widths) / 10 < widest


def _differing(seed, churn, players=100, rounds=240):
    """Play games of players who come and go; return counters and the true gain of their half."""
    draw, counters, truths = random.Random(seed), Counters(), []
    rates = {player: draw.betavariate(5, 2) for player in range(players)}
    met = dict.fromkeys(rates, 0)
    learner = RankOneThompson(period=4, prior="learned").learner(list(rates), seed=seed)
    for _ in range(rounds):
        for player in [each for each in rates if draw.random() < churn]:
            learner.leave(player)
            del rates[player], met[player]
            player = max(rates) + players  # a number that nobody has had
            learner.join(player)
            rates[player], met[player] = draw.betavariate(5, 2), 0
        matching = learner.propose()
        expected = forecast_pairings(learner, met, list(met), matching)
        chances = learner.play_probabilities(matching)
        played = [draw.random() < rates[one] * rates[other] for one, other in matching]
        learner.observe(matching, played)
        games = zip(played, chances, strict=True)
        counters.decide((was, False, chance, expected) for was, chance in games)
        total, squares = sum(rates.values()), sum(rate**2 for rate in rates.values())
        at_random = (total**2 - squares) / (players * (players - 1))
        truths.append(sum(rates[one] * rates[other] for one, other in matching) / len(played))
        truths[-1] -= at_random
        for player in matching.players:
            met[player] += 1
    return counters, sum(truths[rounds // 2 :]) / (rounds // 2)


def test_a_gain_is_shown_where_players_differ(lone):
    evening = Evening(lone)
    evening.come("p", [0.95] * 6 + [0.05] * 6)
    stats = evening.play(80)
    found = stats["compared"]
    assert sentences.verdict(StatsView.model_validate(stats)).startswith("More games are played")
    assert found["games"] == 240
    assert found["gain"]["low"] > 0.1
    assert found["best"] > found["random"] + 0.15
    assert found["of_the_way"] == pytest.approx(
        found["gain"]["estimate"] / (found["best"] - found["random"])
    )
    assert 0.7 < found["of_the_way"] < 1.2


def test_a_policy_without_rates_of_players_is_not_compared(lone):
    evening = Evening(lone, policy="unimodal")
    evening.come("p", [0.9, 0.7, 0.5, 0.3])
    stats = evening.play(5)
    assert stats["compared"] is None
    said = sentences.verdict(StatsView.model_validate(stats))
    assert "No comparison: policy unimodal" in said
    assert {each["best"] for each in stats["course"]["buckets"]} == {None}


def test_games_without_a_forecast_are_on_neither_side():
    without = Bucket(games=80, played=80)
    forecast = Bucket(games=40, played=25, estimated=30, estimated_played=15, random=6.0)
    found = compare([without, forecast])
    assert (found.games, found.played, found.random) == (30, 15, 0.2)
    assert compare([without]) is None


def test_the_doubt_about_random_pairing_widens_the_interval():
    sure = compare([Bucket(200, 100, 0, 200, 100, 100.0, 80.0, 0.0)]).gain
    unsure = compare([Bucket(200, 100, 0, 200, 100, 100.0, 80.0, 20.0)]).gain
    assert sure["estimate"] == unsure["estimate"] == pytest.approx(0.1)
    assert sure["low"] > 0 > unsure["low"]
    assert unsure["high"] > sure["high"]


def test_the_latest_games_are_whole_buckets():
    buckets = [Bucket(games=60, explored=each) for each in (50, 6, 3)]
    assert (latest_games(buckets).games, latest_games(buckets).explored) == (120, 9)
    assert latest_games(buckets[:1]).games == 60
    assert latest_games([]).games == 0


def test_every_readable_report_is_counted(lone):
    lone.pool(players="abcd", lifetime_s=10)
    one, other = lone.propose()["games"]
    lone.report(one, "played")
    lone.report(one, "played")
    lone.report(one, "cancelled", status=409)
    lone.clock.advance(20)
    lone.report(other, "cancelled")
    assert lone.stats()["reports"] == 4
