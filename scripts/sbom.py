"""Write what the wheel consists of and stands on: ``closecall.cdx.json``, a CycloneDX document.

::

    python scripts/sbom.py           # writes it; the wheel carries it in .dist-info/sboms
    python scripts/sbom.py --check   # says whether it is as it would be written now

It is made of pyproject.toml, docs/licences.md and the bundled models' cards and nothing else: no
time, no random number, so the same checkout gives the same bytes. Packages stand in it with the
versions that closecall takes; which ones an installation has, its own tools know.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

sys.path.insert(0, str(Path(__file__).resolve().parent))

from licences import CORE, ROOT, groups, listed

WRITTEN = ROOT / "closecall.cdx.json"
MODEL = ROOT / "models" / "all-MiniLM-L6-v2"
PAIR = ROOT / "models" / "pair-minilm"
HOST = "https://huggingface.co"


def document() -> dict[str, Any]:
    """Return the document, as CycloneDX 1.6 has it."""
    version = re.search(
        r'"([^"]+)"', (ROOT / "src/closecall/_version.py").read_text("utf-8").partition("=")[2]
    )
    if version is None:
        raise SystemExit("src/closecall/_version.py names no version")
    itself = f"pkg:pypi/closecall@{version[1]}"
    packages = _packages()
    models = [_model(), _pair(itself)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": itself,
                "name": "closecall",
                "version": version[1],
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": itself,
            }
        },
        "components": [*models, *packages],
        "dependencies": [
            {"ref": itself, "dependsOn": [one["bom-ref"] for one in (*models, *packages)]},
            *({"ref": one["bom-ref"]} for one in (*models, *packages)),
        ],
    }


def _packages() -> list[dict[str, Any]]:
    """Return the packages that closecall asks for by name, with the versions it takes."""
    licences = listed()
    found: dict[str, dict[str, str]] = {}
    for group, requirements in groups().items():
        for text in requirements:
            wanted = Requirement(text)
            found.setdefault(canonicalize_name(wanted.name), {})[group] = str(wanted.specifier)
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}",
            "name": name,
            "scope": "required" if CORE in where else "optional",
            "licenses": [_licence(licences[name])],
            "purl": f"pkg:pypi/{name}",
            "properties": [
                {"name": f"closecall:{group}", "value": versions or "any"}
                for group, versions in where.items()
            ],
        }
        for name, where in sorted(found.items())
    ]


def _licence(stated: str) -> dict[str, Any]:
    if " " in stated:
        return {"expression": stated}
    # Not in SPDX's list: a package that does not say how many clauses.
    return {"license": {"name": "BSD"} if stated == "BSD" else {"id": stated}}


def _model() -> dict[str, Any]:
    """Return the bundled model: where it comes from, and the hash of each of its files."""
    card = tomllib.loads((MODEL / "card.toml").read_text(encoding="utf-8"))
    purl = f"pkg:huggingface/{card['source']}@{card['revision']}"
    return {
        "type": "machine-learning-model",
        "bom-ref": purl,
        "name": card["name"],
        "version": card["revision"],
        "scope": "required",
        "hashes": [{"alg": "SHA-256", "content": card["weights"]["sha256"]}],
        "licenses": [{"license": {"id": card["licence"]}}],
        "purl": purl,
        "externalReferences": [
            {"type": "distribution", "url": f"{HOST}/{card['source']}/tree/{card['revision']}"}
        ],
        "components": _files(card),
    }


def _pair(itself: str) -> dict[str, Any]:
    """Return the bundled pair model, which is made here: what its weights were, and its files."""
    card = tomllib.loads((PAIR / "card.toml").read_text(encoding="utf-8"))
    return {
        "type": "machine-learning-model",
        "bom-ref": f"{itself}#{card['name']}",
        "name": card["name"],
        "version": card["weights"]["sha256"][:12],
        "scope": "required",
        "hashes": [{"alg": "SHA-256", "content": card["weights"]["sha256"]}],
        "licenses": [{"license": {"id": card["licence"]}}],
        "components": _files(card),
    }


def _files(card: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "type": "file",
            "bom-ref": f"{card['name']}/{file['name']}",
            "name": f"closecall/_bundled/{card['name']}/{file['name']}",
            "hashes": [{"alg": "SHA-256", "content": file["sha256"]}],
        }
        for file in card["files"]
    ]


def rendered() -> str:
    """Return the text of the document."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the document, or say whether it is up to date."""
    parser = argparse.ArgumentParser(description="Write the bill of materials of the wheel.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    if not parser.parse_args(arguments).check:
        WRITTEN.write_text(rendered(), encoding="utf-8")
    elif WRITTEN.read_text(encoding="utf-8") != rendered():
        print(f"{WRITTEN.name} is not up to date: python scripts/sbom.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
