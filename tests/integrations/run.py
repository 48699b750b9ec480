"""Run the frameworks' own tests with our adapters in place of their classes.

`python -m tests.integrations.run [NAME…]`, or `make integrations`. Every framework gets an environment of its own in
`.bench/integrations/NAME`, with what it needs from PyPI in front of the packages of this Python. Its tests come from
its released source package, unpacked beside the environment: nothing of theirs is in this repository.

What a suite needs in order to use our class is a pytest plugin, `on_NAME.py` in this folder. (Not a module of `tests`:
most frameworks have a package of that name themselves.) Tests of our own that need the framework are `NAME_cases.py`.
`suites.py` lists all of them.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import urllib.request
import venv
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.integrations.suites import SUITES, Suite

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = REPOSITORY / "tests" / "integrations"
FOLDER = REPOSITORY / ".bench" / "integrations"
_INDEX = "https://pypi.org/simple"


def main(names: list[str]) -> int:
    """Run the named suites, or all; return how many failed."""
    if unknown := [name for name in names if name not in SUITES]:
        sys.exit(f"no suite is named {', '.join(unknown)}: known are {', '.join(sorted(SUITES))}")
    return sum(not run_suite(name, SUITES[name]) for name in names or sorted(SUITES))


def run_suite(name: str, suite: Suite) -> bool:
    """Run one suite, print what came out, and return whether that was as expected."""
    # Suites whose names differ only after a dash use the same environment.
    environment = FOLDER / name.partition("-")[0]
    python = prepare_environment(environment, suite.packages)
    folder = unpack_source(suite.source) if suite.source else HERE
    report = environment / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-c", HERE / "pytest.ini", "--rootdir", folder, f"--junit-xml={report}"]
    command += ["-p", "selection", *(["-p", suite.plugin] if suite.plugin else [])]
    paths = [REPOSITORY / "src", HERE, folder]
    variables = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "MEMORANDA_SUITE": name, "PYTHONSAFEPATH": "1"}
    done = subprocess.run([*command, *suite.options, *suite.tests], cwd=folder, env=os.environ | variables)
    counts = count_results(report)
    expected = f"{suite.passed} expected"
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "no report"
    print(f"{name}: {summary} ({expected}, {len(suite.left_out)} reasons to leave tests out)", flush=True)
    return done.returncode == 0 and counts["passed"] == suite.passed


def prepare_environment(folder: Path, packages: tuple[str, ...]) -> Path:
    """Return the Python of an environment with these packages, created when they are not in it yet."""
    python, done = folder / "bin" / "python", folder / "installed.txt"
    installed = done.read_text().splitlines() if done.exists() else []
    if set(packages) <= set(installed):
        return python
    if not python.exists():
        venv.create(folder, with_pip=True)
        fallback = Path(sysconfig.get_path("purelib", vars={"base": str(folder)})) / "fallback.pth"
        fallback.write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    done.write_text("\n".join(sorted({*installed, *packages})))
    return python


def unpack_source(requirement: str) -> Path:
    """Return the folder of an unpacked source package, downloaded from PyPI when it is not there yet."""
    name, _, version = requirement.partition("==")
    folder = FOLDER / "sources" / f"{re.sub('[-_.]+', '_', name)}-{version}"
    if not folder.exists():
        address, digest = find_source(name, version)
        content = _download(address)
        if hashlib.sha256(content).hexdigest() != digest:
            sys.exit(f"{address} is not what PyPI says it is")
        if address.endswith(".whl"):
            zipfile.ZipFile(io.BytesIO(content)).extractall(folder)
        else:
            _unpack_tar(content, folder)
    return folder


def _unpack_tar(content: bytes, folder: Path) -> None:
    """Unpack a source package, whose one folder may have another name."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(content)) as source:
        top = Path(source.getnames()[0]).parts[0]
        source.extractall(folder.parent, filter="data")
    if top != folder.name:
        (folder.parent / top).rename(folder)


def find_source(name: str, version: str) -> tuple[str, str]:
    """Return the address and the sha256 of a source package on PyPI, or of the wheel of a project without one."""
    page = _download(f"{_INDEX}/{re.sub('[-_.]+', '-', name).lower()}/").decode()
    found = re.findall(r'href="([^"#]+)#sha256=([0-9a-f]{64})"', page)
    for ending in (f"-{version}.tar.gz", f"-{version}-py3-none-any.whl"):
        for address, digest in found:
            if address.endswith(ending):
                return address, digest
    sys.exit(f"PyPI has no source package of {name} {version}, nor a wheel")


def _download(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=60) as response:
        content: bytes = response.read()
    return content


def count_results(report: Path) -> Counter[str]:
    """Return how many tests passed, failed, or were skipped."""
    counts: Counter[str] = Counter()
    for case in _cases(report):
        kinds = {"failure": "failed", "error": "failed", "skipped": "skipped"}
        found = [kinds[child.tag] for child in case if child.tag in kinds]
        expected = any(child.get("type") == "pytest.xfail" for child in case)
        counts["failed as expected" if expected else found[0] if found else "passed"] += 1
    return counts


def _cases(report: Path) -> Iterator[ET.Element]:
    if report.exists():
        yield from ET.parse(report).getroot().iter("testcase")


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
