"""List the licence of every package that comes with closecall, and of every model.

::

    python scripts/licences.py           # writes docs/licences.md; needs every extra installed
    python scripts/licences.py --check   # compares what is installed with it

A licence is what a package's own metadata state, in SPDX's spelling. One that is not among those
below, or not stated, is refused: somebody has to read it first.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LISTED = ROOT / "docs" / "licences.md"

CORE = "core"
NOT_OFFERED = {"test", "dev"}
"""Extras for those who work on closecall; nobody else installs them."""

ALLOWED = frozenset({
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0",
    "Unlicense", "Zlib",
})  # fmt: skip
"""Licences under which a program that is itself under Apache-2.0 may use a package."""

_SPELLINGS = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "BSD",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
}
_LONGEST = 60
"""What is longer is a licence's text in place of its name."""

HEAD = """\
# Licences

closecall is under the Apache License 2.0. Nothing below is part of its wheel but the two bundled
models; packages come from where you install them. Every licence here allows use, change and
redistribution, also in closed products. Made by `python scripts/licences.py`, and compared with
what is installed by the tests.

## Packages

What each states of itself. *core* comes with `pip install closecall`, the others with extras of
that name. The extra *torch* is listed with the CPU build of torch; its GPU builds bring NVIDIA's
libraries, which are under NVIDIA's own terms. `BSD` stands where a package does not say how many
clauses.

"""


def closure(top: list[str]) -> dict[str, metadata.Distribution] | None:
    """Return what is installed of some requirements and of all that they require, by name.

    None where one of ``top`` is not installed.
    """
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(text) for text in top]
    first = {canonicalize_name(one.name) for one in waiting}
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if (name, frozenset(wanted.extras)) in seen:
            continue
        seen.add((name, frozenset(wanted.extras)))
        try:
            one = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if name in first:
                return None
            continue  # of another platform, or of an extra that this machine has otherwise
        found[name] = one
        for text in one.requires or []:
            needed = Requirement(text)
            extras = [*wanted.extras, ""]
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(needed)
    return found


def groups() -> dict[str, list[str]]:
    """Return the requirements of the core and of each extra that is offered, by its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return {
        CORE: project["dependencies"],
        **{name: extras[name] for name in sorted(extras) if name not in NOT_OFFERED},
    }


def licence_of(one: metadata.Distribution) -> str:
    """Return the licence that a package states, in SPDX's spelling; empty where it states none."""
    facts = one.metadata
    expression = facts.get("License-Expression")
    if expression:
        return str(expression)
    text = (facts.get("License") or "").strip()
    stated = [
        line.rpartition("::")[2].strip()
        for line in facts.get_all("Classifier") or []
        if line.startswith("License ::")
    ]
    # A short text says more than a classifier, which knows no numbers of clauses.
    short = text if text and len(text) <= _LONGEST and "\n" not in text else ""
    spelt = _SPELLINGS.get(short.lower(), short)
    if allowed(spelt) and spelt != "BSD":
        return spelt
    return " OR ".join(_SPELLINGS.get(name.lower(), name) for name in stated) or spelt


def allowed(licence: str) -> bool:
    """Whether a licence is one of those that closecall may stand on."""
    choices = re.split(r"\s+OR\s+", licence.replace("(", "").replace(")", ""))
    return any(
        all(part.strip() in ALLOWED for part in re.split(r"\s+AND\s+", choice))
        for choice in choices
    )


def installed() -> tuple[dict[str, tuple[str, list[str]]], list[str]]:
    """Return the licence and the groups of each package by its name, and the groups not here."""
    packages: dict[str, tuple[str, list[str]]] = {}
    absent: list[str] = []
    for group, top in groups().items():
        found = closure(top)
        if found is None:
            absent.append(group)
            continue
        for name, one in found.items():
            packages.setdefault(name, (licence_of(one), []))[1].append(group)
    return packages, absent


def listed() -> dict[str, str]:
    """Return the licence of each package that the page lists."""
    packages = LISTED.read_text(encoding="utf-8").partition("\n## Models")[0]
    rows = re.findall(r"^\| ([a-z0-9-]+) \| ([^|]*) \| [^|]* \|$", packages, re.MULTILINE)[1:]
    return {name: licence.strip() for name, licence in rows}


def problems() -> list[str]:
    """Return what is installed under a licence that nobody has read, or with the core unlisted.

    What the extras bring changes with every release of theirs, so that being listed is asked of
    the core only; its licence is asked of each package.
    """
    packages, _ = installed()
    known = listed()
    found = []
    for name, (licence, where) in sorted(packages.items()):
        if not allowed(licence):
            found.append(f"{name} ({', '.join(where)}) states {licence or 'no licence'!r}")
        if name not in known and CORE in where:
            found.append(f"{name} comes with the core and is not in docs/{LISTED.name}")
    return found


def models() -> list[tuple[str, str, str]]:
    """Return name, source and licence of the bundled models and of each that is known by name."""
    pair = tomllib.loads((ROOT / "models" / "pair-minilm" / "card.toml").read_text("utf-8"))
    source = f"closecall, from {pair['words']['model']}"
    rows = [(f"{pair['name']} (in the wheel)", source, pair["licence"])]
    bundled = ROOT / "models" / "all-MiniLM-L6-v2" / "card.toml"
    for path in [bundled, *sorted((ROOT / "models" / "known").glob("*.toml"), key=str)]:
        card = tomllib.loads(path.read_text(encoding="utf-8"))
        here = " (in the wheel)" if path == bundled else ""
        source = f"{card.get('source') or card['repo']} at {card['revision'][:12]}"
        rows.append((card["name"] + here, source, card["licence"]))
    return rows


def page() -> str:
    """Return the whole page.

    Raises
    ------
    SystemExit
        An extra is not installed, so that its packages are not known.
    """
    packages, absent = installed()
    if absent:
        raise SystemExit(f"install these extras first: {', '.join(absent)}")
    lines = [HEAD + "| package | licence | with |", "|---|---|---|"]
    for name, (licence, where) in sorted(packages.items()):
        shown = CORE if CORE in where else ", ".join(where)
        lines.append(f"| {name} | {licence or 'not stated'} | {shown} |")
    lines += ["", "## Models", ""]
    lines += ["Those in the wheel come with their LICENSE and NOTICE. The others are fetched by"]
    lines += [
        "`closecall models pull` and by nothing else; a licence beginning with `LicenseRef-` has"
    ]
    lines += ["terms of its own, to be read at the source.", ""]
    lines += ["| model | source | licence |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in models()]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or compare what is installed with it."""
    parser = argparse.ArgumentParser(description="List licences of packages and models.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    if not parser.parse_args(arguments).check:
        LISTED.write_text(page(), encoding="utf-8")
    found = problems()
    for line in found:
        print(line, file=sys.stderr)
    packages, absent = installed()
    print(f"licences: {len(packages)} packages installed, {len(found)} problems", end="")
    print(f"; not installed here: {', '.join(absent)}" if absent else "")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
