"""Structured logs: one JSON object per line, on standard output.

Warnings that repeat are limited: a fault would otherwise write a traceback per request. Lines of
requests are as many as requests; how many of them are kept is decided by what keeps them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import structlog

from pairup.service.settings import Settings

_WARNINGS = ("warning", "error", "exception", "critical")
_MAX_KINDS = 100


class LineLimit:
    """Leaves out warnings of a kind that comes too often; the first line after that second says so.

    They are of one kind if they have the same level and the same event, whatever else they say.
    """

    def __init__(self, max_warnings: int) -> None:
        self._most = max_warnings
        self._lock = threading.Lock()
        self._second = 0
        self._seen: Counter[tuple[str, str]] = Counter()  # in this second

    def __call__(self, logger: Any, method: str, line: dict[str, Any]) -> dict[str, Any]:
        """Count a line; called by structlog for each."""
        kind, record = (method, str(line["event"])[:100]), line.get("_record")
        if record is not None:  # of another library, whose messages are filled in
            kind = (record.levelname.lower(), str(record.msg)[:100])
        with self._lock:
            left_out = self._begin_second()
            if len(self._seen) >= _MAX_KINDS and kind not in self._seen:
                kind = (kind[0], "others")
            if kind[0] in _WARNINGS:
                self._seen[kind] += 1
                if self._seen[kind] > self._most:
                    raise structlog.DropEvent
        return {**line, "left_out": left_out} if left_out else line

    def _begin_second(self) -> dict[str, int]:
        """Return the lines left out by kind if a second has passed in which there were some."""
        if (second := int(time.monotonic())) == self._second:
            return {}
        over = {kind: seen - self._most for kind, seen in self._seen.items()}
        self._second, self._seen = second, Counter()
        return {" ".join(kind): count for kind, count in over.items() if count > 0}


class _Handler(logging.Handler):
    """Writes the lines of other libraries, unless they are left out."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(structlog.DropEvent):
            print(self.format(record), flush=True)


def set_up(settings: Settings) -> None:
    """Log from the level of the settings up, including what uvicorn and other libraries log."""
    level = settings.log_level.upper()
    limit = LineLimit(settings.max_warnings_per_s)
    shared: list[Any] = [
        limit,
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer = structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        logger_factory=structlog.PrintLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = _Handler()
    formatter = structlog.stdlib.ProcessorFormatter
    handler.setFormatter(formatter(foreign_pre_chain=shared, processor=renderer))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = True
    logging.getLogger("uvicorn.error").setLevel(level)
    logging.getLogger("uvicorn.access").disabled = True  # the middleware logs each request
