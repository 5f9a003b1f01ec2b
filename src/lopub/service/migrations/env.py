"""What Alembic runs: the migrations, on the connection that `lopub.service.migrating` hands over."""

from alembic import context

from lopub.service.rows import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
