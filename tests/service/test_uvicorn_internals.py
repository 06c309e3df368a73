"""Uvicorn has what `service/connections.py` uses of it beyond its documented interface.

Nothing of uvicorn's internals, nor of pairup, is imported before a test asks for it: what is
missing is told by name. Also run with the lowest version that is allowed, by `make test-lowest`.
"""

import asyncio
import inspect
from pkgutil import resolve_name

import h11
import pytest
import uvicorn

from tests.support.requirements import check_internals, imported_names

FILE = "service/connections.py"
IMPORTED = imported_names("uvicorn", FILE)
HTTP = "uvicorn.protocols.http.h11_impl:"
FLOW = "uvicorn.protocols.http.flow_control:FlowControl"


async def application(scope, receive, send):
    """An application that is never asked for anything."""


def new_protocol():
    """Return a connection of uvicorn, before it is opened, and the state of its server."""
    state, loop = resolve_name("uvicorn.server:ServerState")(), asyncio.new_event_loop()
    try:
        config = uvicorn.Config(application, log_config=None)
        return resolve_name(f"{HTTP}H11Protocol")(config, state, {"settings": 1}, loop), state
    finally:
        loop.close()


def has(name, value):
    """Whether a new connection has an attribute of a value."""
    return lambda: getattr(new_protocol()[0], name) == value


def takes(name, *parameters):
    """Whether something of uvicorn takes these arguments first."""
    return lambda: (
        tuple(inspect.signature(resolve_name(name)).parameters)[: len(parameters)] == parameters
    )


def overrides(name, *parameters):
    """Whether a method that we override takes these arguments."""
    return takes(f"{HTTP}H11Protocol.{name}", "self", *parameters)


def is_told(name):
    """Whether the exchange of a request and its answer has an attribute from the start."""
    cycle = f"{HTTP}RequestResponseCycle.__init__"
    return lambda: f"self.{name} = " in inspect.getsource(resolve_name(cycle))


def shares_connections():
    protocol, state = new_protocol()
    return protocol.connections is state.connections and isinstance(state.connections, set)


def finds_classes():
    from pairup.service.connections import Connection, Loop

    names = {
        "http": "pairup.service.connections:Connection",
        "loop": "pairup.service.connections:Loop",
    }
    config = uvicorn.Config(application, log_config=None, **names)
    config.load()
    return config.http_protocol_class is Connection and config.get_loop_factory() is Loop


NEEDED = {name: name for name in IMPORTED} | {
    "app_state": has("app_state", {"settings": 1}),
    "timeout_keep_alive": has("timeout_keep_alive", 5),
    "timeout_keep_alive_task": has("timeout_keep_alive_task", None),
    "scope": has("scope", None),
    "cycle": has("cycle", None),
    "transport": has("transport", None),
    "flow": has("flow", None),
    "flow.pause_reading": takes(f"{FLOW}.pause_reading", "self"),
    "flow.resume_reading": takes(f"{FLOW}.resume_reading", "self"),
    "loop": lambda: isinstance(new_protocol()[0].loop, asyncio.AbstractEventLoop),
    "conn": lambda: isinstance(new_protocol()[0].conn, h11.Connection),
    "connections of the server": shares_connections,
    "connection_made": overrides("connection_made", "transport"),
    "data_received": overrides("data_received", "data"),
    "handle_events": overrides("handle_events"),
    "on_response_complete": overrides("on_response_complete"),
    "send_400_response": overrides("send_400_response", "msg"),
    "pause_writing": overrides("pause_writing"),
    "resume_writing": overrides("resume_writing"),
    "connection_lost": overrides("connection_lost", "exc"),
    "cycle.response_complete": is_told("response_complete"),
    "cycle.disconnected": is_told("disconnected"),
    "cycle.message_event": is_told("message_event"),
    "classes found by their names": finds_classes,
}


@pytest.mark.parametrize("name", NEEDED)
def test_uvicorn_has_what_is_used_of_its_internals(name):
    check_internals("uvicorn", FILE, {name: NEEDED[name]})


def test_every_method_that_is_overridden_is_named():
    from pairup.service.connections import Connection

    inherited = {name for name in vars(Connection) if hasattr(Connection.__base__, name)}
    ours = {name for name in inherited if not name.startswith("_")}
    assert ours
    assert ours <= NEEDED.keys()


def test_what_is_missing_is_told_with_the_bound_to_move(monkeypatch):
    monkeypatch.delattr(resolve_name(FLOW), "resume_reading")
    wanted = r"resume_reading.* move the bound uvicorn[<>=.,\d]+ in"
    with pytest.raises(AssertionError, match=wanted):
        check_internals("uvicorn", FILE, NEEDED)
