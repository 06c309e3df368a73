"""Tables of the database.

JSON is stored as text in ASCII, not as a type of one database or the other: what is read is what
was written, byte for byte.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData()


def _pool() -> Column[str]:
    return Column("pool_id", String(32), ForeignKey("pools.id"), primary_key=True)


pools = Table(
    "pools",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("deleted_at", BigInteger),
    Column("seq", BigInteger, nullable=False),  # of the last event; writers lock this row
)
# A deleted pool keeps its log, but its name is free again.
Index(
    "pools_by_name",
    pools.c.name,
    unique=True,
    sqlite_where=text("deleted_at IS NULL"),
    postgresql_where=text("deleted_at IS NULL"),
)

events = Table(
    "events",
    metadata,
    _pool(),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("body", Text, nullable=False),
)

snapshots = Table(
    "snapshots",
    metadata,
    _pool(),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

matchings = Table(
    "matchings",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("pool_id", String(32), ForeignKey("pools.id"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("waiting", Text, nullable=False),
)

games = Table(
    "games",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("pool_id", String(32), ForeignKey("pools.id"), nullable=False),
    Column("matching_id", String(32), ForeignKey("matchings.id"), nullable=False, index=True),
    Column("place", Integer, nullable=False),  # in the order of its matching
    Column("players", Text, nullable=False),
    Column("chance", Float(53)),
    Column("expires_at", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    Column("played", Boolean),
    Column("cause", String(16)),
    Column("answers", Text),
    Column("learnt", Boolean, nullable=False),
    Column("late", Boolean, nullable=False),
    Column("closed_at", BigInteger),
)

answers = Table(
    "idempotent_answers",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("digest", String(64), nullable=False),  # of the request
    Column("body", Text, nullable=False),
    Column("at", BigInteger, nullable=False, index=True),
)

keys = Table(
    "api_keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
)
