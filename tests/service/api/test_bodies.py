"""Long lists of a body are parsed in parts: what is read, and refused, is the same."""

import json

import pytest

from pairup.service.api import bodies
from pairup.service.api.schemas.games import NewMatching
from pairup.service.problems import RefusalError

PLACES = {"player_a": [*range(10)], "player_b": [*range(1, 11)], "worth": [0.5] * 10}
COUPLES = [["ann", "bob"]] * 11
READ = [
    {"available": [f'p"{number}\\,[{{' for number in range(20)], "allowed": PLACES},
    {"allowed": {"couples": COUPLES, "worth": [1] * 11}, "apart": COUPLES},
    {"allowed": {"groups": [["ann", "bob", "cyd", "dan", "eve"], ["fay"]]}},
    {"allowed": {"groups": [["ann"], ["bob"], ["cyd"], ["dan"], ["eve"]]}},
    '{"available" : [ "ann","bob", "cyd" ,"dan", "eve" ] }',
    '{"available":["a","b","c","d","e"],"available":["v","w","x","y","z"]}',
]
REFUSED = [
    {"allowed": {"couples": COUPLES, "worth": [1] * 10}},
    {"allowed": {"couples": COUPLES, "worth": []}},
    {"allowed": {"couples": [*COUPLES, ["ann"], *COUPLES]}},
    {"allowed": {**PLACES, "player_b": [-1] * 10}},
    {"allowed": {**PLACES, "player_b": [1] * 9}},
    {"couples": [1] * 9},
    {"allowed": {"available": ["ann"] * 9}},
    '{"allowed":{"couples":[["a","b"],["a","b"],["a","b"],["a","b"],["a","b"',
    '{"available":["a","b","c","d","e",]}',
    '{"available":["a","b","c",,"e","f"]}',
    '{"available":["a","b","c","d","e"]]}',
    "[1,2,3,4,5,6]",
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(bodies, "_PART", 3)
    monkeypatch.setattr(bodies, "_LARGE", 10)


def read(sent, **options):
    body = (sent if isinstance(sent, str) else json.dumps(sent)).encode()
    sizes = {"max_parts": 1_000, "max_items": 1_000}
    return bodies.read_json(body, "application/json", NewMatching, **sizes, **options)


@pytest.mark.parametrize("sent", READ, ids=range(len(READ)))
def test_a_body_is_the_same_in_parts(sent):
    assert read(sent, in_parts=True) == read(sent)


@pytest.mark.parametrize("sent", REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_is_the_same_in_parts(sent):
    with pytest.raises(RefusalError) as whole:
        read(sent)
    with pytest.raises(RefusalError) as in_parts:
        read(sent, in_parts=True)
    assert (in_parts.value.detail, in_parts.value.fields) == (
        whole.value.detail,
        whole.value.fields,
    )


def test_long_lists_are_never_parsed_whole(monkeypatch):
    monkeypatch.setattr(bodies, "_parse", None)
    assert len(read(READ[0], in_parts=True).allowed.worth) == 10
    assert len(read(READ[1], in_parts=True).allowed.couples) == 11
    found = bodies._long_lists(json.dumps(READ[0]).encode())
    assert [each.name for each in found] == ["available", "player_a", "player_b", "worth"]
    assert [len(each.cuts) for each in found] == [6, 3, 3, 3]


def test_a_body_without_escapes_is_not_copied_to_look_at_it():
    plain = b'{"available": ["ann", "bob"]}'
    assert bodies._without_escapes(plain) is plain
    assert bodies._without_escapes(rb'["a\\", "\"b"]') == rb'["a__", "__b"]'
