"""Histories of a pool: things happen to it in the order that a seed draws."""

import random

from pairup.service.domain.matchmaking.rules import Rules

ANSWERS = ("accepted", "declined", "timed_out", "unknown")


class History:
    """Lets things happen to a pool, in the order that a seed draws."""

    def __init__(self, api, seed, pool="chess", **rules):
        self.api, self.draw, self.pool = api, random.Random(seed), pool
        self.games, self.learnt = [], {}
        api.pool(pool, lifetime_s=20, **rules)

    def go_on(self, steps):
        for _ in range(steps):
            self.draw.choice(
                [
                    self.join,
                    self.join,
                    self.leave,
                    self.propose,
                    self.report,
                    self.report,
                    self.report,
                    self.wait,
                    self.release,
                ]
            )()
            self.check()

    def join(self):
        player = f"p{self.draw.randrange(14)}"
        status = self.draw.choice(["waiting", "waiting", "away"])
        self.api.join(player, self.pool, status)

    def leave(self):
        if self.draw.random() < 0.4:
            self.api("DELETE", f"/v1/pools/{self.pool}/players/p{self.draw.randrange(14)}")

    def propose(self):
        waiting = self.api.json("GET", f"/v1/pools/{self.pool}/players?status=waiting")["players"]
        names = [each["player"] for each in waiting]
        wanted = {}
        if self.draw.random() < 0.3:
            wanted["available"] = self.draw.sample(names, self.draw.randrange(len(names) + 1))
        if self.draw.random() < 0.5 and len(names) > 1:
            wanted["apart"] = [self.draw.sample(names, 2) for _ in range(3)]
        answer = self.api("POST", f"/v1/pools/{self.pool}/matchings", json=wanted)
        assert answer.status_code in (201, 409)
        if answer.status_code == 201:
            for game in answer.json()["games"]:
                assert sorted(game["players"]) not in map(sorted, wanted.get("apart", []))
                self.games.append(game)

    def report(self):
        if not self.games:
            return
        sent = []
        for game in self.draw.choices(self.games[-8:], k=self.draw.randrange(1, 4)):
            report = {"game": game["id"]}
            if self.draw.random() < 0.4:
                report["outcome"] = self.draw.choice(["played", "cancelled"])
            else:
                some = self.draw.sample(game["players"], self.draw.randrange(3))
                report["answers"] = {player: self.draw.choice(ANSWERS) for player in some}
            sent.append(report)
        answer = self.api.json("POST", f"/v1/pools/{self.pool}/outcomes", json={"outcomes": sent})
        for result in answer["results"]:
            if result["result"] == "learnt":
                assert result["game"] not in self.learnt
                self.learnt[result["game"]] = result["state"]

    def wait(self):
        self.api.clock.advance(self.draw.choice([1, 8, 25]))

    def release(self):
        if self.games and self.draw.random() < 0.3:
            game = self.draw.choice(self.games[-6:])
            self.api("POST", f"/v1/matchings/{game['matching']}/release", 200)

    def check(self):
        """Nobody is in two open games, and all that was acknowledged is still so."""
        stats = self.api.stats(self.pool)
        players = [player for game in stats["open_games"] for player in game["players"]]
        assert len(set(players)) == len(players) == stats["players"]["proposed"]
        assert stats["games"]["learnt"] >= len(self.learnt)

    def finish(self):
        for game, state in self.learnt.items():
            shown = self.api.json("GET", f"/v1/games/{game}")
            assert (shown["state"], shown["learnt"]) == (state, True)


def facts(api, pool):
    """Show what follows from the log of a pool alone, under every version of pairup."""
    shown, stats = api.json("GET", f"/v1/pools/{pool}"), api.stats(pool)
    couples = api.json("GET", f"/v1/pools/{pool}/estimates?limit=1000")["couples"]
    counted = ("matchings", "games", "reports", "feedback", "exploration", "open_games")
    return {
        "rules": {rule: shown[rule] for rule in vars(Rules())},
        "players": api.json("GET", f"/v1/pools/{pool}/players?limit=1000")["players"],
        "couples": sorted(couples, key=lambda each: each["players"]),
        **{name: stats[name] for name in counted},
    }
