"""The page on games lists every state and every rule."""

import contextlib
import json
import re
from typing import get_args

from pairup.service.api.schemas.games import GameState
from pairup.service.domain.matchmaking.rules import Rules
from tests.support.docs.pages import read

PAGE = read("reference/games.md")
RULES = PAGE.partition("## The rules of a pool")[2].partition("## ")[0]


def test_every_state_of_a_game_is_reached_in_the_table():
    table = PAGE.partition("| from | to |")[2].partition("\n\n")[0]
    reached = set(re.findall(r"^\| [^|]*\| `(\w+)`", table, re.M))
    assert reached == set(get_args(GameState.__value__))


def test_every_rule_of_a_pool_is_documented_with_its_default():
    documented = {}
    for names, defaults, *_ in (row.strip("| ").split(" | ") for row in RULES.splitlines()[4:-1]):
        values = re.findall(r"`[^`]*`|[^`, ]+", defaults)
        documented |= zip(re.findall(r"`(\w+)`", names), map(value_of, values), strict=True)
    assert documented == Rules().as_json()


def value_of(shown):
    """Return a default as JSON; what is not JSON is a word."""
    text = shown.strip("`")
    with contextlib.suppress(json.JSONDecodeError):
        return json.loads(text)
    return text
