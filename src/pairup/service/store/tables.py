"""Tables of the database.

JSON is stored as text in ASCII, not as a type of one database or the other: what is read is what
was written, byte for byte.
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()


# Pools and matchings have a number of a few bytes, by which other rows refer to them; their ids,
# which callers know, are stored once. In SQLite only an INTEGER can be the key of the row itself.
_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _pool(key: bool = False) -> sa.Column[int]:
    column = ("pool", _Number, sa.ForeignKey("pools.number"))
    return sa.Column(*column, primary_key=key, nullable=False, autoincrement=False)


pools = sa.Table(
    "pools",
    metadata,
    sa.Column("number", _Number, primary_key=True),
    sa.Column("id", sa.String(32), nullable=False, unique=True),
    sa.Column("name", sa.String(64), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("deleted_at", sa.BigInteger),
    sa.Column("seq", sa.BigInteger, nullable=False),  # of the last event; writers lock this row
)
# A deleted pool keeps its log, but its name is free again.
_alive = pools.c.deleted_at.is_(None)
sa.Index("pools_by_name", pools.c.name, unique=True, sqlite_where=_alive, postgresql_where=_alive)

events = sa.Table(
    "events",
    metadata,
    _pool(key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),  # see event_bodies
    sqlite_with_rowid=False,
)

snapshots = sa.Table(
    "snapshots",
    metadata,
    _pool(key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

matchings = sa.Table(
    "matchings",
    metadata,
    sa.Column("number", _Number, primary_key=True),
    sa.Column("id", sa.String(32), nullable=False, unique=True),
    _pool(),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("waiting", sa.Text, nullable=False),
)

games = sa.Table(
    "games",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("matching", _Number, sa.ForeignKey("matchings.number"), nullable=False, index=True),
    sa.Column("place", sa.Integer, nullable=False),  # in the order of its matching
    sa.Column("players", sa.Text, nullable=False),
    sa.Column("chance", sa.Float(53)),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("played", sa.Boolean),
    sa.Column("cause", sa.String(16)),
    sa.Column("answers", sa.Text),
    sa.Column("learnt", sa.Boolean, nullable=False),
    sa.Column("late", sa.Boolean, nullable=False),
    sa.Column("closed_at", sa.BigInteger),
    sqlite_with_rowid=False,
)

archives = sa.Table(
    "archives",
    metadata,
    _pool(key=True),
    sa.Column("first", sa.BigInteger, primary_key=True, autoincrement=False),  # event
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("folder", sa.Text),  # NULL: the one beside the database
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),  # bytes
    sa.Column("before", sa.BigInteger, nullable=False),  # the moment whose past was archived
)

answers = sa.Table(
    "idempotent_answers",
    metadata,
    sa.Column("owner", sa.String(32), primary_key=True),
    sa.Column("key", sa.String(255), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),  # of the request
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
)

keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("name", sa.String(128), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("revoked_at", sa.BigInteger),
)
