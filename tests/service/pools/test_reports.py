"""Outcomes as they really come: every case, and what is learnt of it, exactly once."""

import json

import pytest


def learnt(api):
    """Return how often the only couple was tried and played, and what each player answered."""
    couples, answers, pending = api.learner()
    assert len(couples) <= 1
    return (*next(iter(couples.values()), (0, 0)), answers["a"], answers["b"], len(pending))


NOTHING = (0, 0, (0, 0), (0, 0), 1)  # tried, played, (accepted, declined) of a and b, pending
DISCARDED = (0, 0, (0, 0), (0, 0), 0)
PLAYED = (1, 1, (1, 0), (1, 0), 0)
MISSED = (1, 0, (0, 0), (0, 0), 0)  # not played, nobody knows why


@pytest.fixture
def game(api):
    api.pool(players="ab", lifetime_s=60)
    return api.game()


@pytest.mark.parametrize(
    ("outcome", "answers", "state", "cause", "known"),
    [
        ("played", {}, "played", None, PLAYED),
        ("cancelled", {}, "cancelled", "unstated", MISSED),
        (None, {"a": "accepted", "b": "accepted"}, "played", None, PLAYED),
        ("played", {"a": "accepted"}, "played", None, PLAYED),
        (None, {"a": "declined"}, "cancelled", "declined", (1, 0, (0, 1), (0, 0), 0)),
        (
            None,
            {"a": "accepted", "b": "declined"},
            "cancelled",
            "declined",
            (1, 0, (1, 0), (0, 1), 0),
        ),
        (
            None,
            {"a": "declined", "b": "declined"},
            "cancelled",
            "declined",
            (1, 0, (0, 1), (0, 1), 0),
        ),
        (
            None,
            {"a": "declined", "b": "unknown"},
            "cancelled",
            "declined",
            (1, 0, (0, 1), (0, 0), 0),
        ),
        # Who timed out has not declined, and who accepted does not make the other decline.
        (None, {"a": "timed_out"}, "cancelled", "timed_out", MISSED),
        (None, {"a": "timed_out", "b": "accepted"}, "cancelled", "timed_out", MISSED),
        ("cancelled", {"a": "accepted"}, "cancelled", "unstated", MISSED),
        ("cancelled", {"a": "accepted", "b": "unknown"}, "cancelled", "unstated", MISSED),
        (
            None,
            {"a": "timed_out", "b": "declined"},
            "cancelled",
            "declined",
            (1, 0, (0, 0), (0, 1), 0),
        ),
    ],
)
def test_what_is_learnt_from_a_report_in_time(lone, outcome, answers, state, cause, known):
    lone.pool(players="ab")
    game = lone.game()
    receipt = lone.report(game, outcome, **answers)
    assert (receipt["result"], receipt["state"], receipt["cause"]) == ("learnt", state, cause)
    assert receipt["learnt"]
    assert learnt(lone) == known
    shown = lone.json("GET", f"/v1/games/{game['id']}")
    assert (shown["state"], shown["cause"], shown["learnt"]) == (state, cause, True)
    assert lone.status("a") == "waiting"


@pytest.mark.parametrize(
    ("answers", "known"),
    [
        ({"a": "timed_out"}, (1, 0, (0, 1), (0, 0), 0)),
        ({"a": "timed_out", "b": "accepted"}, (1, 0, (0, 1), (1, 0), 0)),
        ({"a": "timed_out", "b": "timed_out"}, (1, 0, (0, 1), (0, 1), 0)),
    ],
)
def test_a_pool_may_take_a_timeout_for_a_decline(lone, answers, known):
    lone.pool(players="ab", timeout_declines=True)
    assert lone.report(lone.game(), None, **answers)["cause"] == "timed_out"
    assert learnt(lone) == known


@pytest.mark.parametrize("answers", [{"a": "unknown"}, {"a": "unknown", "b": "unknown"}])
def test_a_report_that_says_nothing_changes_nothing(api, game, answers):
    receipt = api.report(game, None, **answers)
    assert (receipt["result"], receipt["state"]) == ("repeated", "proposed")
    assert learnt(api) == NOTHING


def test_answers_come_one_by_one(api, game):
    first = api.report(game, None, a="accepted")
    assert (first["result"], first["state"], first["learnt"]) == ("noted", "proposed", False)
    assert learnt(api) == NOTHING
    assert api.stats()["open_games"][0]["answers"] == {"a": "accepted"}
    second = api.report(game, None, b="accepted")
    assert (second["result"], second["state"]) == ("learnt", "played")
    assert second["answers"] == {"a": "accepted", "b": "accepted"}
    assert learnt(api) == PLAYED


def test_an_answer_after_the_outcome_is_noted(api, game):
    api.report(game, None, a="declined")
    known = learnt(api)
    later = api.report(game, None, b="accepted")
    assert (later["result"], later["state"]) == ("noted", "cancelled")
    assert api.json("GET", f"/v1/games/{game['id']}")["answers"] == {
        "a": "declined",
        "b": "accepted",
    }
    assert learnt(api) == known
    assert api.stats()["feedback"]["noted"] == 1


@pytest.mark.parametrize(
    ("outcome", "answers"),
    [("played", {}), ("cancelled", {}), (None, {"a": "accepted", "b": "declined"})],
)
def test_a_report_sent_twice_is_learnt_once(api, game, outcome, answers):
    first = api.report(game, outcome, **answers)
    known = learnt(api)
    for _ in range(2):
        assert api.report(game, outcome, **answers) == {**first, "result": "repeated"}
    assert learnt(api) == known
    assert api.stats()["feedback"]["repeated"] == 2
    assert api.stats()["games"]["learnt"] == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("played", {}), ("cancelled", {})),
        (("cancelled", {}), ("played", {})),
        (("played", {}), (None, {"a": "declined"})),
        (("cancelled", {}), (None, {"a": "accepted", "b": "accepted"})),
        ((None, {"a": "declined"}), (None, {"a": "accepted"})),
        ((None, {"a": "timed_out"}), (None, {"a": "declined"})),
        ((None, {"a": "accepted"}), (None, {"a": "declined"})),  # of an open game
        ((None, {"a": "accepted", "b": "declined"}), (None, {"b": "accepted"})),
    ],
)
def test_a_contradicting_report_is_refused_with_what_is_stored(api, game, first, second):
    api.report(game, first[0], **first[1])
    known = learnt(api)
    stored = api.json("GET", f"/v1/games/{game['id']}")
    refused = api.report(game, second[0], 409, **second[1])
    assert refused["type"] == "/problems/contradicting-outcome"
    assert refused["stored"] == {"outcome": stored["outcome"], "answers": stored["answers"]}
    assert refused["sent"] == {"outcome": second[0], "answers": second[1]}
    assert refused["state"] == stored["state"]
    assert learnt(api) == known
    assert api.json("GET", f"/v1/games/{game['id']}") == stored
    assert api.stats()["feedback"]["contradicting"] == 1


def test_an_acceptance_that_makes_a_cancelled_game_played_contradicts(api, game):
    api.report(game, "cancelled", a="accepted")
    assert api.report(game, None, 409, b="accepted")["stored"]["outcome"] == "cancelled"


@pytest.mark.parametrize(
    ("outcome", "answers"),
    [
        ("played", {"a": "declined"}),
        ("played", {"a": "timed_out"}),
        ("cancelled", {"a": "accepted", "b": "accepted"}),
        (None, {"eve": "accepted"}),
        ("nonsense", {}),
        (None, {"a": "perhaps"}),
    ],
)
def test_an_inconsistent_report_is_refused(api, game, outcome, answers):
    assert api.report(game, outcome, 422, **answers)["type"] == "/problems/invalid-request"
    assert learnt(api) == NOTHING
    assert api.kinds()[-1] == "proposed"


def test_a_game_that_expires_without_report_is_discarded(api, game):
    api.clock.advance(59.999)
    assert api.status("a") == "proposed"
    api.clock.advance(0.001)
    assert api.status("a") == "waiting"
    shown = api.json("GET", f"/v1/games/{game['id']}")
    assert (shown["state"], shown["cause"], shown["learnt"]) == ("expired", "unreported", False)
    assert learnt(api) == DISCARDED
    assert api.stats()["games"]["expired"] == api.stats()["feedback"]["missing"] == 1


def test_a_game_that_expires_without_report_may_count_as_cancelled(api):
    api.pool(players="ab", unreported="cancelled")
    game = api.game()
    api.clock.advance(61)
    assert api.json("GET", f"/v1/games/{game['id']}")["learnt"]
    assert learnt(api) == MISSED
    assert api.stats()["games"]["cancelled"]["unreported"] == 1
    late = api.report(game, "played")
    assert (late["result"], late["state"], late["learnt"]) == ("late", "expired", True)
    assert learnt(api) == MISSED


def test_a_proposal_expires_by_the_rules_under_which_it_was_made(api, game):
    api("PATCH", "/v1/pools/chess", 200, json={"lifetime_s": 1})
    api.clock.advance(30)
    assert api.status("a") == "proposed"


def test_a_late_report_is_stored_and_counted_but_not_learnt(api, game):
    api.clock.advance(60)
    late = api.report(game, "played")
    assert (late["result"], late["state"], late["learnt"]) == ("late", "expired", False)
    assert learnt(api) == DISCARDED
    shown = api.json("GET", f"/v1/games/{game['id']}")
    assert (shown["outcome"], shown["late"], shown["learnt"]) == ("played", True, False)
    assert api.stats()["feedback"] == {
        "late": 1,
        "repeated": 0,
        "contradicting": 0,
        "missing": 0,
        "noted": 0,
    }
    assert api.report(game, "played")["result"] == "repeated"
    assert api.report(game, "cancelled", 409)["stored"]["outcome"] == "played"
    assert api.stats()["feedback"]["late"] == 1
    assert learnt(api) == DISCARDED


def test_a_late_report_completes_an_early_one(api, game):
    api.report(game, None, a="accepted")
    api.clock.advance(60)
    late = api.report(game, None, b="accepted")
    assert (late["result"], late["outcome"]) == ("late", "played")
    assert late["answers"] == {"a": "accepted", "b": "accepted"}
    assert learnt(api) == DISCARDED


def test_a_released_game_is_not_learnt(api, game):
    api("POST", f"/v1/matchings/{game['matching']}/release", 200)
    assert learnt(api) == DISCARDED
    assert api.report(game, "cancelled")["result"] == "late"
    assert learnt(api) == DISCARDED
    assert api.stats()["games"]["released"]["released"] == 1


def test_the_players_of_an_expired_game_meet_again(api, game):
    api.clock.advance(60)
    again = api.game()
    assert api.report(game, "cancelled")["result"] == "late"
    assert learnt(api) == NOTHING
    assert api.report(again, "played")["result"] == "learnt"
    assert learnt(api) == PLAYED


def test_a_batch_answers_each_report(api):
    api.pool(players="abcdefgh", lifetime_s=60)
    api.pool("go", players="yz")
    early = api.game(available=["a", "b"])
    api.clock.advance(30)
    one, other = api.game(available=["c", "d"]), api.game(available=["e", "f"])
    foreign = api.game("go")
    api.clock.advance(30)
    sent = [
        {"game": one["id"], "outcome": "played"},
        {"game": other["id"], "answers": {"e": "accepted"}},
        {"game": early["id"], "outcome": "played"},
        {"game": one["id"], "outcome": "played"},
        {"game": one["id"], "outcome": "cancelled"},
        {"game": other["id"], "answers": {"f": "declined"}},
        {"game": other["id"], "outcome": "cancelled"},
        {"game": foreign["id"], "outcome": "played"},
        {"game": "nonsense", "outcome": "played"},
        {"game": one["id"], "answers": {"eve": "accepted"}},
        {"game": early["id"], "outcome": "played"},
    ]
    answer = api.json("POST", "/v1/pools/chess/outcomes", json={"outcomes": sent})
    results = answer["results"]
    assert [each["game"] for each in results] == [each["game"] for each in sent]
    assert [each["result"] for each in results] == [
        "learnt",
        "noted",
        "late",
        "repeated",
        "refused",
        "learnt",
        "repeated",
        "refused",
        "refused",
        "refused",
        "repeated",
    ]
    problems = [each["problem"]["status"] for each in results if each["result"] == "refused"]
    assert problems == [409, 404, 404, 422]
    couples, answers, pending = api.learner()
    assert couples == {("c", "d"): (1, 1), ("e", "f"): (1, 0)}
    assert (answers["e"], answers["f"], pending) == ((1, 0), (0, 1), {})
    assert api.learner("go")[0] == {}


def test_outcomes_of_a_deleted_pool_are_unknown(lone):
    lone.pool(players="ab")
    game = lone.game()
    lone("DELETE", "/v1/pools/chess", 204)
    assert lone.report(game, "played", 404)["type"] == "/problems/no-such-game"


def test_times_in_the_log_never_decrease(lone):
    lone.pool(players="abcd")
    lone.game(available=["a", "b"])
    lone.clock.advance(-1000)
    lone.game(available=["c", "d"])
    times = [event["at"] for event in lone.json("GET", "/v1/pools/chess/events")["events"]]
    assert times == sorted(times)


def test_a_batch_adds_one_event_however_many_of_its_reports_change_nothing(lone):
    lone.pool(players="ab")
    game = lone.game()
    lone.report(game, "played")
    for outcome, kind in (("cancelled", "contradicted"), ("played", "repeated")):
        sent = {"outcomes": [{"game": game["id"], "outcome": outcome}] * 1_000}
        before = len(lone.kinds())
        results = lone.json("POST", "/v1/pools/chess/outcomes", json=sent)["results"]
        assert len(results) == 1_000
        (event,) = lone.json("GET", f"/v1/pools/chess/events?after={before}")["events"]
        assert event["kind"] == kind
        assert len(event["body"]["games"]) == 100
        assert event["body"]["more"] == 900
        assert len(json.dumps(event)) < 10_000
    stats = lone.stats()
    assert (stats["feedback"]["contradicting"], stats["feedback"]["repeated"]) == (1_000, 1_000)
    assert stats["reports"] == 2_001
    digest = lone.json("GET", "/v1/pools/chess/digest")
    lone.restart(crash=True)
    assert lone.json("GET", "/v1/pools/chess/digest") == digest


def test_a_batch_that_says_everything_twice_adds_one_event_of_each_kind(lone):
    lone.pool(players="abcdef")
    games = lone.propose()["games"]
    said = [{"game": game["id"], "outcome": "played"} for game in games]
    sent = [each for report in said for each in (report, report, report | {"outcome": "cancelled"})]
    before = len(lone.kinds())
    results = lone.json("POST", "/v1/pools/chess/outcomes", json={"outcomes": sent})["results"]
    assert [each["result"] for each in results] == ["learnt", "repeated", "refused"] * 3
    assert lone.kinds()[before:] == ["decided", "repeated", "contradicted"]
    stored = results[2]["problem"]
    assert (stored["state"], stored["stored"]["outcome"]) == ("played", "played")


def test_a_receipt_shows_a_game_as_its_own_report_left_it(lone):
    lone.pool(players="abcd")
    game, other = lone.propose()["games"]
    lone.report(game, "played")
    one, two = other["players"]
    sent = [
        {"game": game["id"], "outcome": "played"},
        {"game": game["id"], "answers": dict.fromkeys(game["players"], "accepted")},
        {"game": other["id"], "answers": {one: "accepted"}},
        {"game": other["id"], "answers": {two: "declined"}},
    ]
    results = lone.json("POST", "/v1/pools/chess/outcomes", json={"outcomes": sent})["results"]
    assert [each["result"] for each in results] == ["repeated", "noted", "noted", "learnt"]
    assert [len(each["answers"]) for each in results] == [0, 2, 1, 2]
    assert [each["state"] for each in results] == ["played", "played", "proposed", "cancelled"]


@pytest.mark.parametrize("before", ["proposed", "played", "cancelled", "released", "expired"])
def test_a_receipt_says_what_is_stored(lone, before):
    results = set()
    for number, (outcome, answers) in enumerate(
        [
            ("played", {}),
            ("cancelled", {}),
            (None, {"a": "accepted"}),
            (None, {"b": "declined"}),
            ("cancelled", {"a": "timed_out"}),
        ]
    ):
        pool = f"chess-{number}"
        lone.pool(pool, "ab", lifetime_s=60)
        game = lone.game(pool)
        if before in ("played", "cancelled"):
            lone.report(game, before)
        if before == "released":
            lone("POST", f"/v1/matchings/{game['matching']}/release", 200)
        if before == "expired":
            lone.clock.advance(60)
        sent = {"outcomes": 2 * [{"game": game["id"], "outcome": outcome, "answers": answers}]}
        receipts = lone.json("POST", f"/v1/pools/{pool}/outcomes", json=sent)["results"]
        stored = lone.json("GET", f"/v1/games/{game['id']}")
        for receipt in receipts:
            results.add(receipt["result"])
            shown = receipt.get("problem", {}).get("stored", receipt)
            fields = {"state", "outcome", "answers", "cause", "learnt"} & shown.keys()
            assert {name: shown[name] for name in fields} == {name: stored[name] for name in fields}
    assert (
        results
        == {
            "proposed": {"learnt", "noted", "repeated"},
            "played": {"noted", "repeated", "refused"},
            "cancelled": {"noted", "repeated", "refused"},
            "released": {"late", "repeated"},
            "expired": {"late", "repeated"},
        }[before]
    )
