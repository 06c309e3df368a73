"""API keys: their owners, and what these may do in which pool.

A key has 256 random bits and is shown once; the store has its SHA-256 only. A slow salted hash, as
for passwords that people choose, would add nothing: nobody can guess 256 random bits, however fast
the hash, and no two keys are alike.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pairup.errors import ServiceError, did_you_mean
from pairup.service.domain.events import Moment, dumps, format_moment
from pairup.service.domain.names import POOL_NAME, normalized_name
from pairup.service.store import Store, Transaction

SCOPES = ("read", "write", "admin")  # each allows what those before it allow
EVERY_POOL = "*"
_PREFIX = "pairup_"


@dataclass(frozen=True)
class Principal:
    """The owner of a key, with what they may do.

    Examples
    --------
    >>> reader = Principal("k1", {"chess": "read", "*": "write"})
    >>> reader.may("read", "chess"), reader.may("write", "chess"), reader.may("write", "go")
    (True, True, True)
    """

    id: str
    scopes: Mapping[str, str]  # by pool, or for every pool
    name: str | None = None  # of the key, as events name who has changed rules

    def may(self, scope: str, pool: str) -> bool:
        """Return whether they may do in a pool what needs `scope`."""
        granted = (self.scopes.get(pool), self.scopes.get(EVERY_POOL))
        return any(SCOPES.index(each) >= SCOPES.index(scope) for each in granted if each)


ANYONE = Principal("-", {EVERY_POOL: "admin"})  # where no keys are needed


def parse_scopes(scopes: list[str]) -> dict[str, str]:
    """Read scopes like POOL:SCOPE, where * stands for every pool.

    Examples
    --------
    >>> parse_scopes(["chess:write", "*:read"])
    {'chess': 'write', '*': 'read'}
    """
    granted = {}
    for each in scopes:
        pool, colon, scope = each.rpartition(":")
        if not colon or not pool:
            raise ServiceError(f"a scope is POOL:SCOPE, got {each!r}: try '*:write'")
        if scope not in SCOPES:
            raise ServiceError(f"no scope is called {scope!r}{did_you_mean(scope, SCOPES)}")
        if pool != EVERY_POOL and not re.match(POOL_NAME, pool):
            raise ServiceError(
                f"no pool can be called {pool!r}, names are lower-case letters, digits, - and _: "
                "try 'chess:write' or '*:write'"
            )
        granted[pool] = scope
    return granted


def create(
    store: Store,
    name: str,
    scopes: Mapping[str, str],
    at: Moment,
    expires_at: Moment | None = None,
) -> tuple[str, str]:
    """Make a key; returns its id and, for the only time, the key itself."""
    try:
        name = normalized_name(name)
    except ValueError as error:
        raise ServiceError(f"the key cannot be called {name!r}, {error}: correct it") from None
    id, key = secrets.token_hex(6), _new_key()
    row = {"id": id, "name": name, "digest": digest(key), "created_at": at}
    row["expires_at"] = expires_at
    with store.writing() as transaction:
        transaction.add_api_key(row | {"scopes": dumps(dict(scopes))})
    return id, key


def rotate(store: Store, id: str, at: Moment, former_until: Moment) -> str:
    """Replace a key, which is valid beside the new one until a moment; returns the new one.

    Both are the same key to everything else: scopes, rates and idempotent replies stay as they are.
    A key that was replaced before and still valid is not any more.
    """
    key = _new_key()
    with store.writing() as transaction:
        if not transaction.rotate_api_key(id, digest(key), at, former_until):
            raise _no_valid_key(transaction, id, at)
    return key


def _new_key() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def _no_valid_key(transaction: Transaction, id: str, at: Moment) -> ServiceError:
    known = [row.id for row in transaction.valid_api_keys(at)]
    return ServiceError(f"no valid key has the id {id!r}{did_you_mean(id, known)}")


def list_keys(store: Store) -> list[dict[str, Any]]:
    """List the keys, without their secrets."""
    with store.reading() as transaction:
        rows = transaction.api_keys()
    return [
        {
            "id": row.id,
            "name": row.name,
            "scopes": ", ".join(map(":".join, json.loads(row.scopes).items())),
            "created": format_moment(row.created_at),
            "expires": _shown(row.expires_at),
            "former_until": _shown(row.former_until),
            "revoked": _shown(row.revoked_at),
        }
        for row in rows
    ]


def revoke(store: Store, id: str, at: Moment) -> None:
    """Revoke a key, from the next request on."""
    with store.writing() as transaction:
        if not transaction.revoke_api_key(id, at):
            raise _no_valid_key(transaction, id, at)


def _shown(moment: Moment | None) -> str:
    return format_moment(moment) if moment else ""


def find(store: Store, api_key: str, now: Moment) -> Principal | None:
    """Return the owner of an API key, None if it is unknown, revoked or expired."""
    with store.reading() as transaction:
        row = transaction.api_key(digest(api_key), now)
    return None if row is None else Principal(row.id, json.loads(row.scopes), row.name)


def digest(key: str) -> str:
    """Return the digest by which a key is stored."""
    return hashlib.sha256(key.encode()).hexdigest()
