"""Tables of the database.

JSON is stored as text in ASCII, not as a type of one database or the other: what is read is what
was written, byte for byte.
"""

from __future__ import annotations

import sqlalchemy as sa

from pairup.service.domain.events import CHAIN_BYTES

metadata = sa.MetaData()


# A pool has a number of a few bytes, by which other rows refer to it. In SQLite only an INTEGER can
# be the key of the row itself.
_Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _pool(key: bool = True) -> sa.Column[int]:
    column = ("pool", _Number, sa.ForeignKey("pools.number"))
    return sa.Column(*column, primary_key=key, nullable=not key, autoincrement=False)


def _key(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=True, autoincrement=False)


pools = sa.Table(
    "pools",
    metadata,
    sa.Column("number", _Number, primary_key=True),
    sa.Column("secret", sa.String(32), nullable=False),  # of the ids of its games
    sa.Column("name", sa.String(64), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("deleted_at", sa.BigInteger),
    # The head of its log, which writers replace if it is the one that they know.
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("chain", sa.LargeBinary(CHAIN_BYTES), nullable=False),
    sa.Column("due_at", sa.BigInteger),  # when the next open game expires
    # The process that serves it, '' for any: writers name the one that they know, as of the head.
    sa.Column("owner", sa.String(32), nullable=False, server_default=""),
)
# A deleted pool keeps its log, but its name is free again.
_alive = pools.c.deleted_at.is_(None)
sa.Index("pools_by_name", pools.c.name, unique=True, sqlite_where=_alive, postgresql_where=_alive)
_due = pools.c.due_at.is_not(None)
sa.Index("pools_by_due_at", pools.c.due_at, sqlite_where=_due, postgresql_where=_due)

# The processes that share a server, each until its lease ends by the server's clock.
processes = sa.Table(
    "processes",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("secret", sa.String(64), nullable=False),  # by which others that forward are known
    sa.Column("until", sa.BigInteger, nullable=False),
)

# The last event of each pool that the webhook need not be told of any more.
told = sa.Table("told", metadata, _pool(), sa.Column("seq", sa.BigInteger, nullable=False))

# The only place where players have names. The name of a player who was erased is NULL.
players = sa.Table(
    "players",
    metadata,
    _pool(),
    _key("number"),
    sa.Column("name", sa.Text),
    sqlite_with_rowid=False,
)

events = sa.Table(
    "events",
    metadata,
    _pool(),
    _key("seq"),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),  # see event_log
    sqlite_with_rowid=False,
)

snapshots = sa.Table(
    "snapshots",
    metadata,
    _pool(),
    _key("seq"),
    sa.Column("chain", sa.LargeBinary(CHAIN_BYTES), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("base", sa.Boolean, nullable=False),  # whether the log before it was dropped
    sa.Column("body", sa.LargeBinary, nullable=False),
)

matchings = sa.Table(
    "matchings",
    metadata,
    _pool(),
    _key("key"),  # the moment at which it was proposed
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("waiting", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)

games = sa.Table(
    "games",
    metadata,
    _key("pool"),
    _key("matching"),
    _key("place"),  # in the order of its matching
    sa.Column("one", sa.BigInteger, nullable=False),  # players
    sa.Column("other", sa.BigInteger, nullable=False),
    sa.Column("chance", sa.Float(53)),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("played", sa.Boolean),
    sa.Column("cause", sa.String(16)),
    sa.Column("answers", sa.Text),
    sa.Column("learnt", sa.Boolean, nullable=False),
    sa.Column("late", sa.Boolean, nullable=False),
    sa.Column("closed_at", sa.BigInteger),
    sa.ForeignKeyConstraint(["pool", "matching"], ["matchings.pool", "matchings.key"]),
    sqlite_with_rowid=False,
)

archives = sa.Table(
    "archives",
    metadata,
    _pool(),
    _key("first"),  # event
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False),  # date of the last event
    sa.Column("folder", sa.Text),  # NULL: the one beside the database
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),  # bytes
    sa.Column("before", sa.BigInteger, nullable=False),  # the moment whose past was archived
    sa.Column("dropped_at", sa.BigInteger),  # when its file was deleted on purpose
)

replies = sa.Table(
    "idempotent_replies",
    metadata,
    sa.Column("owner", sa.String(32), primary_key=True),
    sa.Column("key", sa.String(255), primary_key=True),
    _pool(key=False),
    sa.Column("digest", sa.String(64), nullable=False),  # of the request
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
)

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("name", sa.String(128), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Column("expires_at", sa.BigInteger),
    # The key before this one, which is valid beside it for a while after a rotation.
    sa.Column("former_digest", sa.String(64), index=True),
    sa.Column("former_until", sa.BigInteger),
)
