"""Owners of pools, the processes that share a server; what a webhook was told; keys that expire."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add who serves a pool and can, until where it was told of, and until when a key is valid."""
    op.add_column("pools", sa.Column("owner", sa.String(32), nullable=False, server_default=""))
    op.create_table(
        "processes",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    pool = sa.Column("pool", number, sa.ForeignKey("pools.number"), autoincrement=False)
    op.create_table(
        "told",
        pool,
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("pool"),
    )
    op.add_column("api_keys", sa.Column("expires_at", sa.BigInteger))
    op.add_column("api_keys", sa.Column("former_digest", sa.String(64)))
    op.add_column("api_keys", sa.Column("former_until", sa.BigInteger))
    op.create_index("ix_api_keys_former_digest", "api_keys", ["former_digest"])
