"""Import: a pool that imported a history against the pool that lived through it.

    python -m scripts.figures.service_learning import

A pool plays until its reports fill a history of the given length, which another pool imports. Then
both play on with the same crowd.
"""

import csv
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pairup import Problem
from pairup.client import Client
from pairup.client.demo import Crowd, Habits, Pace, Simulation
from pairup.service.domain.reports import Report
from scripts.figures.served_pools import served, share_of_way

_AFTER = 20  # rounds that are compared


def show(options, distribution):
    """Print what both pools do after the history, and how long the import took."""
    for answers in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            _show(options, distribution, Habits(answers=answers), Path(folder) / "history.csv")


def _show(options, distribution, habits, path):
    with path.open("w", newline="") as file, served(Recorder) as client:
        client.history = csv.writer(file)
        client.history.writerow(("player_a", "player_b", "accepted_a", "accepted_b", "played"))
        rates = Problem.random(options.players, options.seed, distribution).rates.tolist()
        rounds = -(-options.rows // (options.players // 2))
        began = time.perf_counter()
        client.create_pool("lived", lifetime_s=600)
        lived = Simulation(
            client, "lived", Crowd(rates, distribution, options.seed), habits, Pace()
        )
        for _ in itertools.islice(lived, rounds):
            pass
        lasted = time.perf_counter() - began
        client.history = None
        file.flush()
        began = time.perf_counter()
        command = [sys.executable, "-m", "pairup", "import", path, "--pool", "imported"]
        subprocess.run([*command, "--url", client.url], check=True)
        took = time.perf_counter() - began
        crowd = Crowd(rates, distribution, options.seed)
        imported = Simulation(client, "imported", crowd, habits, Pace())
        ways = [share_of_way(list(itertools.islice(pool, _AFTER))) for pool in (lived, imported)]
    told = "answers of each player" if habits.answers else "outcomes of couples"
    print(
        f"told the {told}: {rounds:,} rounds of {options.players:,} players in {lasted:.0f} s, "
        f"imported in {took:.0f} s; in the next {_AFTER} rounds the pool that lived through them "
        f"goes {ways[0]:.1%} of the way, the one that imported them {ways[1]:.1%}, "
        f"{ways[1] / ways[0]:.1%} of that",
        flush=True,
    )


class Recorder(Client):
    """A client that writes the games that it reports into a history."""

    history = None
    _players = None

    def propose(self, pool, available=None, apart=()):
        """Ask for the next games, and remember who is in them."""
        matching = super().propose(pool, available, apart)
        self._players = {game.id: game.players for game in matching.games}
        return matching

    def report_all(self, pool, reports):
        """Report games, and write them down."""
        reports = list(reports)
        for each in reports if self.history else ():
            report, players = Report.of(each.outcome, each.answers), self._players[each.game]
            heard = report.heard(timeout_declines=False)
            answers = [heard.get(player, "") for player in players]
            self.history.writerow((*players, *answers, report.decision))
        return super().report_all(pool, reports)
