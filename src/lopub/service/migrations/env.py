"""What Alembic runs: the migrations, on the connection that `lopub.service.schema` hands over."""

from alembic import context

from lopub.service.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
