"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "pools",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("deleted_at", sa.BigInteger),
        sa.Column("seq", sa.BigInteger, nullable=False),
    )
    alive = sa.text("deleted_at IS NULL")
    op.create_index(
        "pools_by_name", "pools", ["name"], unique=True, sqlite_where=alive, postgresql_where=alive
    )
    for name, content in (("events", sa.Text), ("snapshots", sa.LargeBinary)):
        kind = [sa.Column("kind", sa.String(32), nullable=False)] if name == "events" else []
        op.create_table(
            name,
            sa.Column("pool_id", sa.String(32), sa.ForeignKey("pools.id"), primary_key=True),
            sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("at", sa.BigInteger, nullable=False),
            *kind,
            sa.Column("body", content, nullable=False),
        )
    op.create_table(
        "matchings",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("pool_id", sa.String(32), sa.ForeignKey("pools.id"), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("waiting", sa.Text, nullable=False),
    )
    op.create_table(
        "games",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("pool_id", sa.String(32), sa.ForeignKey("pools.id"), nullable=False),
        sa.Column("matching_id", sa.String(32), sa.ForeignKey("matchings.id"), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("players", sa.Text, nullable=False),
        sa.Column("chance", sa.Float(53)),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("played", sa.Boolean),
        sa.Column("cause", sa.String(16)),
        sa.Column("answers", sa.Text),
        sa.Column("learnt", sa.Boolean, nullable=False),
        sa.Column("late", sa.Boolean, nullable=False),
        sa.Column("closed_at", sa.BigInteger),
    )
    op.create_index("ix_games_matching_id", "games", ["matching_id"])
    op.create_table(
        "idempotent_answers",
        sa.Column("owner", sa.String(32), primary_key=True),
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_idempotent_answers_at", "idempotent_answers", ["at"])
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
    )
