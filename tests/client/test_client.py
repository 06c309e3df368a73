"""Addresses, errors and imports of the client."""

import pickle
import subprocess
import sys

import pytest

from pairup.client import AsyncClient, Client, RefusedError
from pairup.errors import ClientError
from tests.support.service.running import environment


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("url", ["ftp://localhost", "http://", "//", "http://x:y"])
def test_an_address_that_is_not_of_http_is_refused(kind, url):
    with pytest.raises(ClientError, match="begins with http"):
        kind(url)


@pytest.mark.parametrize(
    "url", ["localhost:8000", "http://localhost:8000/", "http://localhost:8000/v1"]
)
def test_an_address_may_lack_the_scheme_or_have_the_version(url):
    with Client(url) as client:
        assert client.url == "http://localhost:8000"


def test_a_refusal_crosses_a_process_border():
    problem = {"type": "/problems/busy", "status": 409, "detail": "later"}
    error = pickle.loads(pickle.dumps(RefusedError(problem)))
    assert (error.kind, error.status, str(error), error.fields) == ("busy", 409, "later", problem)


def run_without(*modules, then):
    missing = ";".join(f"sys.modules[{module!r}] = None" for module in modules)
    code = f"import sys; {missing}; {then}"
    return subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True
    )


@pytest.mark.parametrize("module", ["httpx", "pydantic"])
def test_without_the_extra_one_line_names_it(module):
    done = run_without(module, then="import pairup; from pairup.client import Client")
    last = done.stderr.splitlines()[-1]
    assert last.endswith(f"pairup.client needs {module}: pip install 'pairup[client]'")


def test_without_the_extra_the_command_says_so_in_one_line():
    then = "sys.argv = ['pairup', 'simulate-players']; from pairup.cli import main; main()"
    done = run_without("httpx", then=then)
    assert done.returncode == 1
    assert done.stderr == "pairup: pairup.client needs httpx: pip install 'pairup[client]'\n"


def test_the_client_needs_nothing_of_the_server():
    done = run_without("fastapi", "sqlalchemy", "uvicorn", then="import pairup.client")
    assert (done.returncode, done.stderr) == (0, "")
