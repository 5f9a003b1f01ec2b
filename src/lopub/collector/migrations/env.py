"""What Alembic runs: the migrations, on the connection that `lopub.collector.migrating` hands over."""

from alembic import context

from lopub.collector.rows import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
