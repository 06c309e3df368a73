"""Pages that stay open: what changes is shown, and nothing else moves."""

import pytest

from pairup.client import Client
from tests.support.service.running import Running


def test_events_are_shown_as_they_happen(service, client, opened):
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


def test_an_unchanged_page_is_not_sent_again(service, opened):
    shown = opened().go(f"{service.url}/pools/history")
    with shown.page.expect_response(lambda answer: answer.status == 304, timeout=30_000):
        pass


def test_a_page_recovers_after_a_restart_of_the_service(tmp_path, opened):
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


def test_focus_stays_where_it_is_while_the_page_changes(service, client, opened):
    client.create_pool("aaa")
    shown = opened().go(service.url)
    shown.page.focus("#pool-aaa")
    client.join("aaa", "ann")
    shown.until("document.querySelector('#pools tbody tr').innerText.includes('1')")
    assert shown.page.evaluate("document.activeElement.id") == "pool-aaa"
    shown.page.keyboard.press("Enter")
    shown.page.wait_for_url("**/pools/aaa")


def test_a_service_without_pools_says_how_to_create_one_and_a_limit_leaves_it_shown(
    tmp_path, opened
):
    running = Running(tmp_path, max_requests_per_s=0.04, burst_s=200)  # 8 requests
    try:
        shown = opened().go(running.url)
        assert "There are no pools yet." in shown.text("main")
        assert "pairup simulate-players" in shown.text("main")
        with Client(running.url) as client:
            client.create_pool("chess")
        shown.until("document.getElementById('pool-chess') !== null")
        assert shown.said == []
        shown.until("document.getElementById('live').textContent === 'service busy, trying again'")
        assert shown.page.evaluate("document.getElementById('pool-chess') !== null")
    finally:
        running.stop()


def test_the_page_of_a_deleted_pool_says_so_until_it_exists_again(service, client, opened):
    client.create_pool("short")
    shown = opened().go(f"{service.url}/pools/short")
    client.delete_pool("short")
    shown.until("document.body.dataset.page === 'refusal'")
    assert "no pool is called 'short'" in shown.text("main")
    client.create_pool("short")
    shown.until("document.body.dataset.page === 'pool'")


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


@pytest.mark.parametrize("width", [1280, 390])
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
    assert "No game is open; this is the last matching." in shown.text("#open-games")
    assert shown.texts("#open-games tr.over td:last-child") == ["cancelled (unstated)"] * 12
