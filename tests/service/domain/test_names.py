"""Names: whatever is sent, two that look alike are one, and none hides anything."""

import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pairup.cli import main
from pairup.service.domain.names import normalized_name

NASTY = [
    "",
    " ann",
    "ann\u3000",
    "a\nb",
    "a\x00b",
    "a\u202eb",
    "a\u2066b",
    "a\u200bb",
    "a\u2028b",
    "\ufeffann",
    "a\ufffdb",
    "\ud800",
    "..",
    "x" * 129,
    "\u0958" * 100,  # in form NFC it has twice as many characters
]


@pytest.mark.parametrize("name", NASTY)
def test_a_name_that_hides_something_is_refused(name):
    with pytest.raises(ValueError, match=r"a name|surrogates"):
        normalized_name(name)


@given(st.text(min_size=1, max_size=140))
@example("\u212b")
@example("e\u0301\u0301" * 40)
def test_a_name_that_is_taken_is_taken_again_and_has_one_form(name):
    try:
        made = normalized_name(name)
    except ValueError:
        return
    assert normalized_name(made) == made
    assert normalized_name(unicodedata.normalize("NFD", made)) == made
    assert made.isprintable() or unicodedata.category(made[0])[0] in "CZ" or len(made) > 1


def test_two_spellings_are_one_player(lone):
    lone.pool(players="a")
    composed, decomposed = "Zo\xeb", "Zoe\u0308"
    assert lone.join(quote(decomposed)).status_code == 201
    assert lone.join(quote(composed)).status_code == 200
    game = lone.game(available=["a", decomposed])
    assert composed in game["players"]
    assert lone.report(game, **{decomposed: "declined"})["answers"] == {composed: "declined"}


@pytest.mark.parametrize("name", [name for name in NASTY if name.isprintable() or "\n" in name])
def test_a_nasty_name_is_a_problem_wherever_it_is_sent(lone, name):
    lone.pool(players="ab")
    if name not in ("", "..", "a\nb"):  # not an address of a player
        lone("PUT", f"/v1/pools/chess/players/{quote(name)}", 422)
    lone("POST", "/v1/pools/chess/matchings", 422, json={"available": [name, "a"]})
    lone("POST", "/v1/pools/chess/matchings", 422, json={"apart": [[name, "a"]]})
    game = lone.game()
    body = {"answers": {name: "accepted"}}
    lone("PUT", f"/v1/games/{game['id']}/outcome", 422, json=body)


def test_names_of_keys_follow_the_same_rule(monkeypatch, tmp_path, capsys):
    for words, says in [
        (["a\u202eb", "--scope", "chess:read"], "the key cannot be called"),
        (["x" * 129, "--scope", "chess:read"], "1 to 128 characters"),
        (["ann", "--scope", "Chess Club:read"], "no pool can be called 'Chess Club'"),
    ]:
        command = ["pairup", "keys", "create", *words, "--database", str(tmp_path / "x.db")]
        monkeypatch.setattr("sys.argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert says in capsys.readouterr().err
