"""The page on games lists every state and every rule."""

import re
from typing import get_args

from pairup.service.api.schemas.games import GameState
from pairup.service.domain.rules import Rules
from tests.support.docs.pages import read

PAGE = read("reference/games.md")
RULES = PAGE.partition("## The rules of a pool")[2].partition("## ")[0]


def test_every_state_of_a_game_is_reached_in_the_table():
    table = PAGE.partition("| from | to |")[2].partition("\n\n")[0]
    reached = set(re.findall(r"^\| [^|]*\| `(\w+)`", table, re.M))
    assert reached == set(get_args(GameState.__value__))


def test_every_rule_of_a_pool_is_documented_with_its_default():
    for name, value in Rules().as_json().items():
        row = next(row for row in RULES.splitlines() if f"`{name}`" in row.split(" | ")[0])
        if isinstance(value, bool | str):
            assert str(value).lower() in row
        elif isinstance(value, float | int):
            assert f"{value:g}" in row
