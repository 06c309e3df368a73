"""What notebooks show of the public classes."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from pairup import ESCB, Matching, Problem, RankOneThompson, Uniform, Unimodal, simulate
from pairup.html_table import Strong, html_table

TRICKY = "<script>alert('&')</script>"


class Cells(HTMLParser):
    """Reads a table: the text of each cell by row, the tags that were used, the words in bold."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.caption, self.bold, self._open = [], [], "", [], []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attributes):
        assert attributes == []
        self.tags.append(tag)
        if tag != "br":
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "caption" in self._open:
            self.caption += data
        elif {"td", "th"} & set(self._open):
            self.rows[-1][-1] += data
            if "b" in self._open:
                self.bold.append(data)


def shown(value):
    return Cells(value._repr_html_())


def test_texts_are_escaped():
    cells = Cells(html_table(f"{TRICKY}\nsecond", [TRICKY, "b"], [[TRICKY, Strong(TRICKY)]]))
    assert cells.rows == [[TRICKY, "b"], [TRICKY, TRICKY]]
    assert cells.caption == f"{TRICKY}second"
    assert cells.bold == [TRICKY]
    assert "script" not in cells.tags


@pytest.mark.parametrize(
    ("make", "in_caption", "in_cells"),
    [
        (lambda: Matching([(TRICKY, "b")], waiting=["c"]), 0, 1),
        (lambda: Unimodal().learner([TRICKY, "b"]), 0, 1),
        (lambda: Problem([0.9, 0.1], TRICKY), 1, 0),
        (lambda: simulate(Problem([0.9, 0.1], TRICKY), Uniform(), 10, 2), 1, 0),
    ],
    ids=["matching", "learner", "problem", "run"],
)
def test_names_of_players_and_problems_are_escaped(make, in_caption, in_cells):
    cells = shown(make())
    assert cells.caption.count(TRICKY) == in_caption
    assert sum(row.count(TRICKY) for row in cells.rows) == in_cells
    assert "script" not in cells.tags


def test_a_matching_lists_couples_and_players_who_wait():
    cells = shown(Matching([("ann", "bob"), ("cid", "dee")], waiting=["eve"]))
    assert cells.rows == [["ann", "bob"], ["cid", "dee"], ["eve", "waits"]]
    assert cells.caption == "Matching: 2 couples"
    large = shown(Matching([(2 * i, 2 * i + 1) for i in range(100)], range(200, 300)))
    assert len(large.rows) == 42
    assert ["...", "80 more couples"] in large.rows
    assert ["...", "80 more players wait"] in large.rows


def test_a_problem_shows_rates_and_best_partners():
    cells = shown(Problem([0.9, 0.2, 0.8], "mine"))
    assert cells.rows[0] == ["player", "acceptance rate", "best partner"]
    assert cells.rows[1:] == [["0", "0.9", "2"], ["1", "0.2", "waits"], ["2", "0.8", "0"]]
    assert "mine: 3 players" in cells.caption
    assert "0.72 games per round" in cells.caption
    assert shown(Problem.random(50)).rows[-1] == ["...", "30 more players", ""]


def test_a_matrix_has_its_best_couples_in_bold():
    matrix = np.array([[0, 0.5, 0.9], [0.5, 0, 0.2], [0.9, 0.2, 0]])
    cells = shown(Problem.from_matrix(matrix))
    assert cells.rows[1:] == [
        ["0", "", "0.5", "0.9"],
        ["1", "0.5", "", "0.2"],
        ["2", "0.9", "0.2", ""],
    ]
    assert cells.bold == ["0", "0.9", "1", "2", "0.9"]
    assert len(shown(Problem.from_matrix(np.full((50, 50), 0.5))).rows) == 22
    assert shown(Problem.from_matrix(np.full((300, 300), 0.5))).rows == []


def test_pieces_are_listed_with_their_best_matchings():
    problem = Problem.piecewise([0, 1_000], [[0.9, 0.9, 0.1, 0.1], [0.9, 0.1, 0.9, 0.1]])
    assert shown(problem).rows[1:] == [["0", "0-1, 2-3", "0.82"], ["1,000", "0-2, 1-3", "0.82"]]
    many = Problem.piecewise(range(30), [[0.5, 0.5]] * 30)
    assert shown(many).rows[-1] == ["...", "10 more changes", ""]


def test_a_run_shows_checkpoints_from_the_first_to_the_last():
    run = simulate(Problem([1, 1, 0, 0], "mine"), Uniform(), 1_000, 5)
    cells = shown(run)
    assert "Uniform() on mine" in cells.caption
    assert "5 replications of 1,000 rounds, seed 0" in cells.caption
    assert len(cells.rows) == 9
    assert [cells.rows[k][0] for k in (0, 1, -1)] == ["round", "1", "1,000"]
    assert cells.rows[-1][1] == f"{run.mean()[-1]:,.1f}"
    assert re.fullmatch(r"[\d.]+ to [\d.]+", cells.rows[-1][2])
    assert shown(simulate(run.problem, Uniform(), 10, 1)).rows[-1][2] == ""


def test_a_learner_shows_the_matching_that_looks_best():
    learner = RankOneThompson().learner("abcd")
    for _ in range(20):
        matching = learner.propose()
        learner.observe(matching, ["a" in couple for couple in matching])
    cells = shown(learner)
    assert "RankOneThompson()" in cells.caption
    assert "4 players, 0 outcomes pending" in cells.caption
    assert len(cells.rows) == 3
    assert re.fullmatch(r"\d+\.\d%", cells.rows[1][2])
    assert len(shown(Unimodal().learner(range(100))).rows) == 22


def test_a_learner_without_a_leader_shows_what_was_observed():
    assert shown(Uniform().learner("abcd")).rows == []
    learner = ESCB().learner("ab")
    learner.observe(learner.propose(), [True])
    assert learner.leader is None
    assert shown(learner).rows == [["one", "other", "proposed", "played"], ["a", "b", "1", "1"]]
