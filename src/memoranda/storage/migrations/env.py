"""The script that Alembic runs: it migrates on the connection that `upgrade` passes."""

from __future__ import annotations

from alembic import context

from memoranda.storage.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
