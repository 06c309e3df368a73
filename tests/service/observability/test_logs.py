"""Logs: however often something happens, the log stays readable."""

import json
import logging

import pytest
import structlog

from pairup.service.observability import logs
from pairup.service.settings import Settings


@pytest.fixture
def now(monkeypatch, capsys):
    """Set up logs of few lines per second; returns the clock that they go by."""
    root, clock = logging.getLogger(), [1.0]
    handlers, level, before = root.handlers[:], root.level, structlog.get_config()
    monkeypatch.setattr(logs.time, "monotonic", lambda: clock[0])
    logs.set_up(Settings(max_warnings_per_s=3))
    yield clock
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**before)


def test_warnings_that_repeat_are_summed_up(now, capsys):
    log = structlog.get_logger()
    for number in range(515):
        log.warning("request", path=f"/{number}")
        logging.getLogger("asyncio").error("socket.accept() of %s", number)
    log.info("request", path="/")
    now[0] += 1
    log.info("ready")
    log.warning("request", path="/last")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["level"], line["event"]) for line in lines] == [
        *[("warning", "request"), ("error", "socket.accept() of 0")],
        *[("warning", "request"), ("error", "socket.accept() of 1")],
        *[("warning", "request"), ("error", "socket.accept() of 2")],
        ("info", "request"),
        ("info", "ready"),
        ("warning", "request"),
    ]
    assert lines[-2]["left_out"] == {"warning request": 512, "error socket.accept() of %s": 512}
    assert "left_out" not in lines[-1]


def test_lines_of_requests_are_all_written(now, capsys):
    for _ in range(1_200):
        structlog.get_logger().info("request")
    assert len(capsys.readouterr().out.splitlines()) == 1_200


def test_there_are_never_more_kinds_than_a_log_can_count(now, capsys):
    for number in range(1_000):
        structlog.get_logger().error(f"kind {number}")
    assert len(capsys.readouterr().out.splitlines()) < 110
