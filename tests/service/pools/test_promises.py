"""What rules promise to players, over HTTP and many rounds: a limit on waits, and a floor."""

import numpy as np

from tests.support.service.constraints import SECOND, allowed_couples
from tests.support.service.journal import check_replayed


def report(api, games, draw):
    """Report answers drawn by `draw`; returns the couples that played."""
    sent, played = [], []
    for game in games:
        said = {player: draw(player) for player in game["players"]}
        answers = {player: "accepted" if yes else "declined" for player, yes in said.items()}
        sent.append({"game": game["id"], "answers": answers})
        if all(said.values()):
            played.append(game["players"])
    api("POST", "/v1/pools/chess/outcomes", 200, json={"outcomes": sent})
    return played


def test_nobody_waits_beyond_the_limit_while_a_partner_is_there(lone):
    random = np.random.default_rng(3)
    relax = [{"after_s": 30, "at_most": 250}]
    near = {"kind": "distance", "attribute": "rating", "at_most": 80, "relax": relax}
    constraints = [near, {"kind": "different", "attribute": "side"}]
    lone.pool(
        constraints=constraints,
        max_wait_s=20,
        worth=[{"kind": "distance", "attribute": "rating", "half_at": 20}],
    )
    players = {}
    for number in range(15):
        known = {
            "rating": float(random.integers(600)),
            "side": "host" if number < 5 else "guest",
        }
        players[f"p{number:02}"] = {"since": lone.clock.now(), **known}
        path = f"/v1/pools/chess/players/p{number:02}"
        lone("PUT", path, 201, json={"attributes": known})
    overdue_rounds = left_rounds = 0
    for _ in range(60):
        lone.clock.advance(5)
        now, told = lone.clock.now(), lone.propose()
        allowed = allowed_couples(constraints, players, [], now)
        couples = {tuple(sorted(game["players"])) for game in told["games"]}
        assert couples <= allowed
        overdue = {name for name, known in players.items() if now - known["since"] >= 20 * SECOND}
        served = {name for couple in couples for name in couple if overdue & set(couple)}
        for couple in allowed:
            assert not overdue & set(couple) or served & set(couple), "both wait for nothing"
        overdue_rounds += bool(overdue)
        left_rounds += bool(overdue - served)
        for couple in report(lone, told["games"], lambda _: random.random() < 0.7):
            for name in couple:
                players[name]["since"] = now
    assert min(overdue_rounds, left_rounds) > 10  # it was put to the test
    check_replayed(lone.service.store, "chess", lone.json("GET", "/v1/pools/chess/digest"))


def test_a_floor_holds_for_every_player_with_learned_rates(settings_api):
    rates = np.linspace(0.15, 0.95, 16)
    random = rates * (rates.sum() - rates) / (len(rates) - 1)
    names, worst = {f"p{number}": number for number in range(len(rates))}, {}
    for floor in (0.0, 0.5):
        api, luck = settings_api(), np.random.default_rng(1)
        api.pool(fairness={"floor": floor}, players=names)
        chances = np.zeros((250, len(rates)))
        for row in chances:
            games, drawn = api.propose()["games"], luck.random(len(rates))
            for game in games:
                both = [names[name] for name in game["players"]]
                row[both] = np.prod(rates[both])
            report(api, games, lambda name, drawn=drawn: drawn[names[name]] < rates[names[name]])
        worst[floor] = (chances[50:].mean(axis=0) / random).min()
    assert worst[0.5] > 0.45
    assert worst[0.0] < 0.35
