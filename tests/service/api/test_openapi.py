"""Whatever is sent, valid or not: an answer that the OpenAPI description knows, and never a 500."""

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.support.service.served import served

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
STREAM = "/v1/pools/{pool}/events/stream"  # it never ends
BOUNDED = settings(
    max_examples=8,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, tmp_path_factory):
    if request.param == "sqlite":
        database = str(tmp_path_factory.mktemp("schema") / "pools.db")
    else:
        database = request.getfixturevalue("postgres").new_database()
    with served(database) as address:
        yield address


@pytest.fixture(scope="module")
def description(url):
    """What the service says of itself."""
    document = httpx.get(f"{url}/openapi.json").json()
    return schemathesis.openapi.from_dict(document).exclude(path=STREAM)


@pytest.fixture(scope="module")
def known(url):
    """Parts of addresses under which there is something."""
    with httpx.Client(base_url=url) as client:
        client.post("/v1/pools", json={"name": "chess", "lifetime_s": 3600})
        for player in ("ann", "bob", "cyd", "dan"):
            client.put(f"/v1/pools/chess/players/{player}")
        matching = client.post("/v1/pools/chess/matchings", json={"available": ["ann", "bob"]})
        (game,) = matching.json()["games"]
        past = {"players": ["ann", "bob"], "player_a": [0], "player_b": [1], "played": [True]}
        client.put("/v1/pools/chess/imports/past/rows/0", json={"rows": 1, **past})
        imported = client.get("/v1/pools/chess/imports/past").json()
    ids = {"matching": matching.json()["id"], "game": game["id"]}
    rows = {"source": imported["id"], "first": imported["next"]}
    return {"pool": "chess", "player": "cyd", "slug": "busy", **ids, **rows}


def sweep(url, description, mode, checks, parts=None):
    """Send requests to each operation; returns to how many of them."""
    swept = 0
    for found in description.get_all_operations():
        operation = found.ok()
        if parts and operation.method == "delete" and operation.path == "/v1/pools/{pool}":
            continue  # the others would find nothing

        @BOUNDED
        @given(case=operation.as_strategy(generation_mode=mode))
        def send(case):
            for part in (parts and case.path_parameters) or ():
                case.path_parameters[part] = parts[part]
            case.call_and_validate(base_url=url, checks=checks)

        try:
            send()
            swept += 1
        except Unsatisfiable:  # nothing is sent to it that could be wrong
            assert mode is GenerationMode.NEGATIVE
    return swept


def test_valid_requests_get_documented_answers(url, description):
    assert sweep(url, description, GenerationMode.POSITIVE, CHECKS) >= 20


def test_invalid_requests_are_refused_as_documented(url, description):
    checks = [*CHECKS, negative_data_rejection]
    assert sweep(url, description, GenerationMode.NEGATIVE, checks) >= 15


def test_requests_about_existing_things_get_documented_answers(url, description, known):
    assert sweep(url, description, GenerationMode.POSITIVE, CHECKS, known) >= 20
