"""Contract suites, an exact reference and fakes, for Memoranda's own components and for yours."""

from __future__ import annotations

import sys

_SUITES = ("contracts", "differential", "lifecycle", "store", "values")

if "pytest" in sys.modules:
    # The suites are imported, not collected: without this a failed assertion would not show its values.
    sys.modules["pytest"].register_assert_rewrite(*(f"{__name__}.{suite}" for suite in _SUITES))
