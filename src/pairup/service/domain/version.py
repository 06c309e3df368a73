"""Versions: which code wrote a stretch of a log, or a snapshot."""

from __future__ import annotations

import functools
import hashlib
import inspect
from contextlib import suppress
from importlib.metadata import version as installed_version
from pathlib import Path

import pairup
from pairup.compiled.source_digest import computation_digest
from pairup.policies import Policy
from pairup.service.domain.events import Version

_SOURCES = ("compiled/**/*.py", "policies/**/*.py", "learning/*.py", "saved_arrays.py")


def current_version(policy: Policy) -> Version:
    """Return the version of the code that runs, for pools with this policy.

    Examples
    --------
    >>> from pairup import Unimodal
    >>> sorted(current_version(Unimodal()))
    ['code', 'package']
    """
    return {"package": _package(), "code": _code_digest(type(policy))}


@functools.cache
def _package() -> str:
    return installed_version("pairup")


@functools.cache
def _code_digest(policy_class: type[Policy]) -> str:
    if policy_class.__module__.startswith("pairup."):
        return _own_digest()
    source = b""  # of a policy from elsewhere, if it lies in a file
    with suppress(OSError, TypeError):
        source = Path(inspect.getsourcefile(policy_class) or "").read_bytes()
    return hashlib.sha256(_own_digest().encode() + source).hexdigest()[:16]


def _own_digest() -> str:
    return computation_digest(Path(str(pairup.__file__)).parent, *_SOURCES)[:16]
