"""Versions: which code wrote a stretch of a log, or a snapshot."""

from __future__ import annotations

import functools
import hashlib
from importlib.metadata import version as installed_version

from pairup.compiled.kernel_cache import is_ours
from pairup.learning import Learner
from pairup.policies import Policy
from pairup.policies.plugins import code_digest, source_of
from pairup.service.domain.events import Version


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
    code = code_digest(policy_class, Learner.__module__)
    source = b"" if is_ours(policy_class) else source_of(policy_class) or b""
    return hashlib.sha256(code.encode() + source).hexdigest()[:16]
