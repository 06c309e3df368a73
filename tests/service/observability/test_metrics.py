"""Metrics: what is counted, for which pools, and who is shown it."""

import os
import re

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from pairup.service import api_keys
from pairup.service.observability import metrics
from pairup.service.observability.metrics import Metrics
from tests.support.docs.pages import blocks
from tests.support.service.pools import Api

PAGE = "how-to/monitor-the-service.md"


def series(api, **options):
    """Scrape, and return the values of all series of single pools."""
    text = api("GET", "/metrics", 200, **options).text
    found = {}
    for family in text_string_to_metric_families(text):
        for name, labels, value, *_ in family.samples:
            if "pool" in labels:
                others = [labels[each] for each in ("cause", "le") if each in labels]
                found[name.removeprefix("pairup_pool_"), labels["pool"], *others] = value
    return found


def pools(api, **options):
    return {pool for _, pool, *_ in series(api, **options)}


@pytest.fixture
def narrow(tmp_path):
    """A service in which two pools have metrics of their own."""
    running = Api(str(tmp_path / "pools.db"), max_metric_pools=2)
    yield running
    running.stop()


def test_what_happens_to_a_pool_is_counted(lone):
    lone.pool(players="abcdef", unreported="cancelled")
    one, two, three = lone.propose()["games"]
    lone.report(one, "played")
    lone.report(two, **{two["players"][0]: "declined"})
    lone.clock.advance(61)
    lone.report(three, "played")
    matching = lone.propose()
    lone("POST", f"/v1/matchings/{matching['id']}/release", 200)
    found = series(lone)
    assert found["games_proposed_total", "chess"] == 6
    assert found["games_played_total", "chess"] == 1
    assert found["games_cancelled_total", "chess", "declined"] == 1
    assert found["games_cancelled_total", "chess", "unreported"] == 1
    assert found["games_expired_total", "chess"] == 1
    assert found["games_late_total", "chess"] == 1
    assert found["games_released_total", "chess", "released"] == 3
    assert found["proposal_seconds_count", "chess"] == 2
    assert 0 < found["proposal_seconds_sum", "chess"] < 60


def test_a_request_that_is_answered_again_is_counted_once(lone):
    lone.pool(players="ab")
    for _ in range(2):
        key = {"Idempotency-Key": "once"}
        lone("POST", "/v1/pools/chess/matchings", 201, headers=key)
    found = series(lone)
    assert found["games_proposed_total", "chess"] == 1
    assert found["proposal_seconds_count", "chess"] == 1


def test_gauges_show_the_present_state_of_a_pool(lone):
    lone.pool(players="abcde")
    found = series(lone)
    assert found["waiting_players", "chess"] == 5
    assert ("gain", "chess") not in found  # nothing is known yet, and nothing is shown
    for _ in range(4):
        game, _ = lone.propose()["games"]
        lone.report(game, "played")
        lone.clock.advance(61)
    lone.propose()
    found, compared = series(lone), lone.stats()["compared"]
    assert (found["waiting_players", "chess"], found["open_games", "chess"]) == (1, 2)
    ends = [found[name, "chess"] for name in ("gain_low", "gain", "gain_high")]
    assert ends == [compared["gain"][end] for end in ("low", "estimate", "high")]


def test_gauges_follow_what_another_process_does(lone):
    lone.pool(players="abc")
    other = Api(lone.database, lone.clock)
    other.join("d")
    assert series(lone)["waiting_players", "chess"] == 3
    lone.service.measure_pools(update=True)
    assert series(lone)["waiting_players", "chess"] == 4
    other.stop()


def test_a_pool_that_is_not_in_memory_has_no_gauges(tmp_path):
    api = Api(str(tmp_path / "pools.db"), cached_pools=1)
    for name in ("chess", "go"):
        api.pool(name, players="ab")
        found = series(api)
    assert ("waiting_players", "chess") not in found
    assert found["waiting_players", "go"] == 2
    api.stop()


def test_pools_beyond_the_limit_have_no_numbers_of_their_own(narrow):
    for name in ("chess", "go", "darts", "pool"):
        narrow.pool(name, players="ab")
        narrow.propose(name)
    found = series(narrow)
    proposed = {key[1]: value for key, value in found.items() if key[0] == "games_proposed_total"}
    timed = {key[1]: value for key, value in found.items() if key[0] == "proposal_seconds_count"}
    assert proposed == {"chess": 1, "go": 1}
    assert timed == {"chess": 1, "go": 1, "_other": 2}


def test_numbers_of_a_pool_go_on_after_a_restart(lone):
    lone.pool(players="ab")
    lone.report(lone.game(), "played")
    lone.restart()
    lone.report(lone.game(), "cancelled")
    found = series(lone)
    assert found["games_proposed_total", "chess"] == 2
    assert found["games_played_total", "chess"] == 1
    assert found["games_cancelled_total", "chess", "unstated"] == 1


def test_series_of_a_deleted_pool_vanish_and_make_room(narrow):
    for name in ("chess", "go", "darts"):
        narrow.pool(name, players="ab")
        narrow.propose(name)
    narrow("DELETE", "/v1/pools/chess", 204)
    assert pools(narrow) == {"go", "_other"}
    narrow.join("c", "darts")
    narrow.join("d", "darts")
    narrow.propose("darts")
    assert series(narrow)["games_proposed_total", "darts"] == 2  # since it was created


def test_series_of_a_pool_that_another_process_deleted_vanish(lone):
    lone.pool(players="ab")
    lone.propose()
    assert pools(lone) == {"chess"}
    other = Api(lone.database, lone.clock)
    other("DELETE", "/v1/pools/chess", 204)
    assert pools(lone) == set()
    other.stop()


def test_an_idle_pool_makes_room_for_one_in_use(narrow, monkeypatch):
    for name in ("chess", "go"):
        narrow.pool(name, players="ab")
        narrow.propose(name)
    monkeypatch.setattr(metrics, "_IDLE_S", 0.0)
    narrow.pool("darts", players="ab")
    narrow.propose("darts")
    assert pools(narrow) == {"go", "darts"}


def test_names_of_players_are_never_shown_and_routes_name_no_pool(lone):
    lone.pool("chess", players=["secret-player", "b"])
    lone.report(lone.game("chess"), "played")
    shown = lone("GET", "/metrics", 200).text
    assert "secret" not in shown
    assert 'pairup_events_total{kind="decided"} 1.0' in shown
    route = 'route="/v1/pools/{pool}/matchings",status="201"'
    assert f'pairup_requests_total{{method="POST",{route}}} 1.0' in shown


def test_pools_are_shown_to_keys_that_may_read_them(tmp_path):
    api = Api(str(tmp_path / "pools.db"), keys="required")

    def bearer(*scopes):
        granted = api_keys.parse_scopes(list(scopes))
        _, key = api_keys.create(api.service.store, "test", granted, 0)
        return {"Authorization": f"Bearer {key}"}

    admin = bearer("*:admin")
    for name in ("chess", "go"):
        api("POST", "/v1/pools", 201, json={"name": name}, headers=admin)
        for player in "ab":
            api("PUT", f"/v1/pools/{name}/players/{player}", 201, headers=admin)
        api("POST", f"/v1/pools/{name}/matchings", 201, headers=admin)
    assert pools(api) == set()
    assert "pairup_requests_total" in api("GET", "/metrics", 200).text
    assert pools(api, headers=bearer("chess:read")) == {"chess"}
    assert pools(api, headers=bearer("*:read")) == {"chess", "go"}
    api("GET", "/metrics", 401, headers={"Authorization": "Bearer wrong"})
    api.stop()


def test_without_keys_pools_are_shown_to_this_machine_only(lone):
    lone.pool(players="ab")
    lone.propose()
    assert pools(lone) == {"chess"}
    assert pools(lone, headers={"Host": "rebound.example"}) == set()


def test_alert_rules_and_queries_of_the_page_are_about_metrics_that_exist():
    """Rules are parsed as Prometheus parses them; a file of rules has only what it may have."""
    assert "PROMETHEUS_MULTIPROC_DIR" not in os.environ
    known = {"up"} | {
        sample + end
        for metric in Metrics().collect()
        for sample, end in (
            [(metric.name, "_total")]
            if metric.type == "counter"
            else [(metric.name, each) for each in ("_bucket", "_sum", "_count")]
            if metric.type == "histogram"
            else [(metric.name, "")]
        )
    }
    scrape, rules = (yaml.safe_load(each.text) for each in blocks(PAGE, "yaml"))
    assert scrape["rule_files"] == ["pairup.rules.yml"]
    (group,) = rules["groups"]
    for rule in group["rules"]:
        assert rule.keys() <= {"alert", "expr", "for"}
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))
    queries = [rule["expr"] for rule in group["rules"]]
    queries += [each.text for each in blocks(PAGE, "promql")]
    for query in queries:
        promql_parser.parse(query)
        named = set(re.findall(r"\b(?:pairup_\w+|up)\b(?=[\[{ )])", query))
        assert named, query
        assert named <= known, query
