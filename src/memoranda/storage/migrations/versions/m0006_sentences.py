"""Add the vectors of a text's sentences beside its own, and allow long texts to be compressed.

Long texts change no table: the number only lets a program that cannot read them refuse the file.
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute("ALTER TABLE vectors ADD COLUMN sentences BLOB")
