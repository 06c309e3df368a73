"""The OpenAPI description: valid, complete, and of use to generators of clients."""

import json
import re
from contextlib import closing
from dataclasses import dataclass, fields
from typing import ClassVar

import jsonschema_rs
import pytest
import schemathesis
from typer.testing import CliRunner

from pairup.cli import app
from pairup.client import Client
from pairup.service.api.openapi import describe
from pairup.service.api.schemas.problems import PROBLEM_TYPES
from pairup.service.domain.events import KINDS, Event, Recorded
from pairup.service.store import Store
from tests.support.service.served import served

DOCUMENT = describe(needs_keys=False)
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = [each for path in DOCUMENT["paths"].values() for each in path.values()]


def parts(value, name=""):
    """Yield every object inside a document with the name that it stands under."""
    if isinstance(value, dict):
        yield name, value
        for key, each in value.items():
            yield from parts(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from parts(each, name)


def validator(name):
    """Return a validator of a component, which also checks formats."""
    wanted = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(wanted, validate_formats=True)


def test_the_document_is_valid_openapi():
    schemathesis.openapi.from_dict(DOCUMENT).validate()
    for name, schema in SCHEMAS.items():
        assert jsonschema_rs.meta.is_valid(schema), name
    references = {part["$ref"] for _, part in parts(DOCUMENT) if "$ref" in part}
    known = {
        f"#/components/{kind}/{name}"
        for kind, components in DOCUMENT["components"].items()
        for name in components
    }
    assert references <= known


def test_integers_that_need_64_bits_say_so():
    """Where nothing is said many languages take 32 bits, which the log and the clock exceed."""
    integers = [part for _, part in parts(DOCUMENT) if part.get("type") == "integer"]
    small = [each for each in integers if "format" not in each]
    assert max(max(each.get("maximum", 0), each.get("exclusiveMaximum", 0)) for each in small) > 0
    for each in small:
        assert min(each.get("maximum", 2**53), each.get("exclusiveMaximum", 2**53)) <= 2**31
    assert SCHEMAS["ExpiredEvent"]["properties"]["seq"]["format"] == "int64"


def test_the_document_names_no_server():
    assert "servers" not in DOCUMENT
    assert not re.search(r"https?://|localhost|127\.0", json.dumps(DOCUMENT))


def test_the_command_prints_what_the_service_shows():
    printed = CliRunner().invoke(app, ["openapi"])
    assert json.loads(printed.stdout) == DOCUMENT
    guarded = CliRunner(env={"PAIRUP_KEYS": "required"}).invoke(app, ["openapi"])
    assert json.loads(guarded.stdout) == describe(needs_keys=True)


@pytest.mark.parametrize(
    ("needs_keys", "security"), [(True, [{"apiKey": []}]), (False, [{}, {"apiKey": []}])]
)
def test_keys_are_described_also_where_none_is_needed(needs_keys, security):
    described = describe(needs_keys)
    scheme = described["components"]["securitySchemes"]["apiKey"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    for path, operations in described["paths"].items():
        for operation in operations.values():
            optional = [{}, {"apiKey": []}] if path == "/metrics" else None
            assert operation.get("security") == (security if path.startswith("/v1/") else optional)


def test_every_moment_is_a_date():
    found = [
        (name, part)
        for name, part in parts(SCHEMAS)
        if re.fullmatch(r"at|\w+_at", name) and "title" in part and name != "half_at"  # a distance
    ]
    assert len(found) > 20
    for name, part in found:
        formats = {each.get("format") for each in (part, *part.get("anyOf", ()))}
        assert "date-time" in formats, (name, part)


def test_an_operation_answers_in_one_media_type():
    for operation in OPERATIONS:
        good, refused = set(), set()
        for status, response in operation["responses"].items():
            if "$ref" in response:
                shared = response["$ref"].rpartition("/")[2]
                response = DOCUMENT["components"]["responses"][shared]
            (good if int(status) < 400 else refused).update(response.get("content", ()))
        assert len(good) == (0 if "204" in operation["responses"] else 1), operation["operationId"]
        assert refused <= {"application/problem+json"}


def test_names_of_operations_are_a_verb_and_its_object():
    names = [operation["operationId"] for operation in OPERATIONS]
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", name)


def test_words_of_closed_sets_are_enumerated_once():
    enumerated = [name for name, part in parts(DOCUMENT) if len(part.get("enum", ())) > 1]
    assert sorted(enumerated) == sorted(set(enumerated))
    assert set(enumerated) >= {"PlayerStatus", "GameState", "Answer", "Outcome", "Cause"}


def test_all_types_of_problems_are_listed_with_links():
    kind = SCHEMAS["ProblemKind"]
    assert kind["enum"] == [each.path for each in PROBLEM_TYPES.values()]
    everywhere = json.dumps(DOCUMENT["components"]["responses"])
    for each in PROBLEM_TYPES.values():
        assert f"]({each.path})" in kind["description"]
        assert each.status in (405, 500) or f"]({each.path})" in everywhere, each.slug


def test_examples_fit_their_schemas():
    checked = 0
    for name, schema in SCHEMAS.items():
        for example in schema.get("examples", ()):
            validator(name).validate(example)
            checked += 1
        for field, part in schema.get("properties", {}).items():
            inner = {**part, "components": DOCUMENT["components"]}
            for example in part.get("examples", ()):
                message = f"{name}.{field}: {example}"
                assert jsonschema_rs.is_valid(inner, example, validate_formats=True), message
                checked += 1
    assert checked > 40


def test_every_kind_of_event_has_a_schema_of_its_own():
    mapping = SCHEMAS["EventView"]["discriminator"]["mapping"]
    assert mapping.keys() == {*KINDS, "unknown"}
    for event in Event.__subclasses__():
        body = SCHEMAS[f"{event.__name__}Body"]
        assert list(body.get("properties", {})) == [each.name for each in fields(event)]


def test_logs_are_as_described_and_typed_in_the_client(lone):
    lone.pool(players=("ann", "bob", "cyd", "dan"), lifetime_s=60, unreported="cancelled")
    first, other = lone.propose()["games"]
    lone.report(first, "played")
    lone.report(first, "played")
    lone.report(first, "cancelled", 409)
    lone.clock.advance(61)
    lone.report(other, "played")
    one, two = other["players"]
    third = lone.game(available=[one, two])
    lone.report(third, **{one: "accepted"})
    lone("DELETE", f"/v1/pools/chess/players/{one}", 204)
    lone("PATCH", "/v1/pools/chess", 200, json={"lifetime_s": 30})
    page = lone.json("GET", "/v1/pools/chess/events?limit=1000")
    validator("EventPage").validate(page)
    kinds = {event["kind"] for event in page["events"]}
    assert kinds >= {"created", "joined", "left", "configured", "proposed", "answered"}
    assert kinds >= {"decided", "repeated", "contradicted", "expired", "late", "released"}


@dataclass
class Promoted:
    """An event of a kind that does not exist yet."""

    player: str
    rank: int
    kind: ClassVar[str] = "promoted"

    def as_json(self):
        return vars(self)


def test_an_event_of_a_kind_from_a_newer_version_is_shown(tmp_path):
    database = str(tmp_path / "pools.db")
    with served(database) as url, Client(url) as client:
        client.create_pool("chess")
        client.join("chess", "ann")
        with closing(Store(database)) as store, store.writing() as transaction:
            row = transaction.pool_named("chess")
            recorded = Recorded.of(row.seq + 1, row.created_at, Promoted("ann", 1))
            transaction.append(row.number, [recorded], row.head)
        *_, joined, promoted = client.events("chess")
        assert (joined.kind, joined.body.players, joined.at.tzname()) == ("joined", ["ann"], "UTC")
        assert (promoted.seq, promoted.kind) == (row.seq + 1, "unknown")
        assert promoted.body.kind == "promoted"
        assert promoted.body.body == {"player": "ann", "rank": 1}
        followed = client.follow("chess", after=row.seq - 1)
        assert [next(followed).kind, next(followed).kind] == ["joined", "unknown"]
        followed.close()
