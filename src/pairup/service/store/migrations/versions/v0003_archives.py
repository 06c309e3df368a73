"""Archives of earlier events, in files beside the database."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the table that lists them."""
    op.create_table(
        "archives",
        sa.Column("pool", _NUMBER, sa.ForeignKey("pools.number"), primary_key=True),
        sa.Column("first", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.Column("folder", sa.Text),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("before", sa.BigInteger, nullable=False),
    )
