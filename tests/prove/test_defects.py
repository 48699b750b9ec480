from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.prove.defects import DEFECTS, PACKAGE, Defect
from tests.prove.run import REGIMES


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_defect_fits_the_code_and_can_be_compiled(defect: Defect, tmp_path: Path) -> None:
    target = tmp_path / defect.file
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(PACKAGE / defect.file, target)
    defect.plant(tmp_path)
    compile(target.read_text("utf-8"), defect.file, "exec")


def test_each_defect_names_a_regime_and_there_are_enough_of_them() -> None:
    assert [defect.name for defect in DEFECTS if defect.regime not in REGIMES] == []
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS) >= 25
