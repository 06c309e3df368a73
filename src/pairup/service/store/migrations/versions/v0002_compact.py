"""Compact rows: ids are stored once, bodies of events and idempotent answers are compressed.

Ids of the first schema stay as they are. Tables are written again and the old ones dropped, in
one transaction; the file shrinks when it is vacuumed. Snapshots are not carried over: their format
is not read any more, and they follow from the log.
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from pairup.service.store.event_bodies import encode_body

revision = "0002"
down_revision = "0001"
_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TABLES = ("pools", "events", "snapshots", "matchings", "games", "idempotent_answers")
_PAGE = 1_000  # rows


def upgrade() -> None:
    """Write the tables again."""
    op.drop_index("pools_by_name", "pools")
    op.drop_index("ix_games_matching_id", "games")
    op.drop_index("ix_idempotent_answers_at", "idempotent_answers")
    for name in _TABLES:
        op.rename_table(name, f"first_{name}")
    _make_tables()
    _copy_rows()
    for name in ("idempotent_answers", "games", "matchings", "snapshots", "events", "pools"):
        op.drop_table(f"first_{name}")


def _make_tables() -> None:
    op.create_table(
        "pools",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("deleted_at", sa.BigInteger),
        sa.Column("seq", sa.BigInteger, nullable=False),
    )
    alive = sa.text("deleted_at IS NULL")
    op.create_index(
        "pools_by_name", "pools", ["name"], unique=True, sqlite_where=alive, postgresql_where=alive
    )
    op.create_table(
        "events",
        *_log_columns(),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table("snapshots", *_log_columns(), sa.Column("body", sa.LargeBinary, nullable=False))
    op.create_table(
        "matchings",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("pool", _NUMBER, sa.ForeignKey("pools.number"), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("waiting", sa.Text, nullable=False),
    )
    op.create_table(
        "games",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("matching", _NUMBER, sa.ForeignKey("matchings.number"), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
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

    op.create_table(
        "idempotent_answers",
        sa.Column("owner", sa.String(32), primary_key=True),
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )


def _log_columns() -> list[sa.Column[Any]]:
    key = {"primary_key": True, "autoincrement": False}
    return [
        sa.Column("pool", _NUMBER, sa.ForeignKey("pools.number"), **key),  # type: ignore[arg-type]
        sa.Column("seq", sa.BigInteger, **key),  # type: ignore[arg-type]
        sa.Column("at", sa.BigInteger, nullable=False),
    ]


def _copy_rows() -> None:
    op.execute(
        "INSERT INTO pools (id, name, created_at, deleted_at, seq) "
        "SELECT id, name, created_at, deleted_at, seq FROM first_pools ORDER BY created_at, id"
    )
    _copy_events()
    op.execute(
        "INSERT INTO matchings (id, pool, at, expires_at, waiting) "
        "SELECT m.id, p.number, m.at, m.expires_at, m.waiting "
        "FROM first_matchings m JOIN pools p ON p.id = m.pool_id ORDER BY m.at, m.id"
    )
    same = "place, players, chance, state, played, cause, answers, learnt, late, closed_at"
    op.execute(
        f"INSERT INTO games (id, matching, {same}) SELECT g.id, m.number, {same} "
        "FROM first_games g JOIN matchings m ON m.id = g.matching_id ORDER BY g.id"
    )
    op.create_index("ix_games_matching", "games", ["matching"])
    _copy_answers()
    op.create_index("ix_idempotent_answers_at", "idempotent_answers", ["at"])


def _copy_answers() -> None:
    connection = op.get_bind()
    adding = sa.text(
        "INSERT INTO idempotent_answers (owner, key, digest, body, at) "
        "VALUES (:owner, :key, :digest, :body, :at)"
    )
    reading = sa.text("SELECT owner, key, digest, body, at FROM first_idempotent_answers")
    for page in connection.execute(reading).partitions(_PAGE):
        rows = [{**row._mapping, "body": encode_body(row.body)} for row in page]
        connection.execute(adding, rows)


def _copy_events() -> None:
    connection = op.get_bind()
    adding = sa.text(
        "INSERT INTO events (pool, seq, at, kind, body) VALUES (:pool, :seq, :at, :kind, :body)"
    )
    for pool, id in connection.execute(sa.text("SELECT number, id FROM pools")).all():
        for page in _pages_of_events(connection, id):
            rows = [{**row._mapping, "pool": pool, "body": encode_body(row.body)} for row in page]
            connection.execute(adding, rows)


def _pages_of_events(connection: sa.Connection, pool_id: str) -> Iterator[list[sa.Row[Any]]]:
    query = sa.text(
        "SELECT seq, at, kind, body FROM first_events WHERE pool_id = :pool AND seq > :after "
        f"ORDER BY seq LIMIT {_PAGE}"
    )
    after = 0
    while page := list(connection.execute(query, {"pool": pool_id, "after": after})):
        yield page
        after = page[-1].seq
