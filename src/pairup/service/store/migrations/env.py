"""What Alembic runs to run the steps; the connection, in a transaction, is given to it."""

from alembic import context

from pairup.service.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
