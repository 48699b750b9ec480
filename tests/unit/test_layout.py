from __future__ import annotations

import ast
import subprocess
from collections import defaultdict
from pathlib import Path

import memoranda

SOURCE = Path(str(memoranda.__file__)).parent
ROOT = SOURCE.parents[1]
UNIT = Path(__file__).parent
SAME_NAMES = ("aio", "client", "integrations")
"""Folders whose classes have the names of the classes that they wrap, or of the frameworks that they plug into."""


def test_no_module_has_more_than_500_lines() -> None:
    long = {
        str(file): count for file in SOURCE.rglob("*.py") if (count := len(file.read_text("utf-8").splitlines())) > 500
    }
    assert long == {}


def test_no_adapter_has_200_lines() -> None:
    files = {file for file in (SOURCE / "integrations").rglob("*.py") if file.name != "managers.py"}  # what they share
    assert {file.name: count for file in files if (count := len(file.read_text("utf-8").splitlines())) >= 200} == {}


def test_few_modules_are_outside_of_the_folders() -> None:
    assert len([file for file in SOURCE.glob("*.py") if not file.name.startswith("__")]) <= 11


def test_folders_of_unit_tests_are_those_of_the_source() -> None:
    tests = {file.parent.relative_to(UNIT) for file in UNIT.rglob("test_*.py")}
    assert {str(folder) for folder in tests if not (SOURCE / folder).is_dir()} == {"benchmarks"}


def test_each_class_name_names_one_class() -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for file in SOURCE.rglob("*.py"):
        path = file.relative_to(SOURCE)
        if path.parts[0] in SAME_NAMES:
            continue
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(str(path))
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_former_name_appears_only_in_the_changelog() -> None:
    former = "recol" + "lect"
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split() or [str(file.relative_to(ROOT)) for file in SOURCE.rglob("*.py")]
    found = [name for name in names if former in name.lower()]
    for name in names:
        file = ROOT / name
        if file.is_file() and former in file.read_text("utf-8", errors="replace").lower():
            found.append(name)
    assert [name for name in found if name != "CHANGELOG.md"] == []
