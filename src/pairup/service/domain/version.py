"""Versions: which code wrote a stretch of a log, or a snapshot."""

from __future__ import annotations

import functools
import hashlib
import inspect
import threading
from contextlib import suppress
from importlib.metadata import version as installed_version
from pathlib import Path

import pairup
from pairup.kernels.runtime.source_digest import computation_digest
from pairup.policies import Policy
from pairup.service.domain.events import Version

_PARSING = threading.Lock()
_SOURCES = ("kernels/**/*.py", "policies/*.py", "learning/*.py", "saved_arrays.py")


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
    with _PARSING:  # the parser of Python 3.11 fails where two threads parse at the same time
        return _digest_sources()


@functools.cache
def _digest_sources() -> str:
    root = Path(str(pairup.__file__)).parent
    return computation_digest(root, [path for each in _SOURCES for path in root.glob(each)])[:16]
