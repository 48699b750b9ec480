"""Long texts may be compressed from now on. The tables stay as they are; a program that cannot read them refuses."""

from __future__ import annotations

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    pass
