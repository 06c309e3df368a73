"""The first schema that is kept: players by number, logs with an identity."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = None
_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _pool(**options: object) -> sa.Column[int]:
    pool = sa.ForeignKey("pools.number")
    return sa.Column("pool", _NUMBER, pool, autoincrement=False, **options)  # type: ignore[arg-type]


def _key(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=True, autoincrement=False)


def upgrade() -> None:
    """Make all tables."""
    _make_log()
    _make_records()
    _make_access()


def _make_log() -> None:
    op.create_table(
        "pools",
        sa.Column("number", _NUMBER, primary_key=True),
        sa.Column("secret", sa.String(32), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("deleted_at", sa.BigInteger),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("chain", sa.LargeBinary(16), nullable=False),
        sa.Column("due_at", sa.BigInteger),
    )
    for name, column, unique, where in (
        ("pools_by_name", "name", True, sa.text("deleted_at IS NULL")),
        ("pools_by_due_at", "due_at", False, sa.text("due_at IS NOT NULL")),
    ):
        op.create_index(
            name, "pools", [column], unique=unique, sqlite_where=where, postgresql_where=where
        )
    op.create_table(
        "events",
        _pool(primary_key=True),
        _key("seq"),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshots",
        _pool(primary_key=True),
        _key("seq"),
        sa.Column("chain", sa.LargeBinary(16), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("base", sa.Boolean, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "archives",
        _pool(primary_key=True),
        _key("first"),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.Column("folder", sa.Text),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("before", sa.BigInteger, nullable=False),
        sa.Column("dropped_at", sa.BigInteger),
    )


def _make_records() -> None:
    op.create_table(
        "players",
        _pool(primary_key=True),
        _key("number"),
        sa.Column("name", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "matchings",
        _pool(primary_key=True),
        _key("key"),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("waiting", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "games",
        _key("pool"),
        _key("matching"),
        _key("place"),
        sa.Column("one", sa.BigInteger, nullable=False),
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


def _make_access() -> None:
    op.create_table(
        "idempotent_replies",
        sa.Column("owner", sa.String(32), primary_key=True),
        sa.Column("key", sa.String(255), primary_key=True),
        _pool(),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False, index=True),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
    )
