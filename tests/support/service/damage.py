"""Damage: rows that are changed behind the back of the service."""

from contextlib import closing

from sqlalchemy import text

from pairup.service.store import Store


def change(database, *statements, **values):
    """Change rows of a database, by SQL."""
    with closing(Store(database)) as store, store._writer() as connection:
        for statement in statements:
            connection.execute(text(statement), values)
