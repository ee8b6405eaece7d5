"""Hold what comes with closecall against the published advisories, where they can be had.

::

    python .ci/advisories.py ENVIRONMENT

Exits with 1 where a package has one, and with 0 where none has or the service is out of reach,
which it says: a network that is down is no finding.
"""

import json
import subprocess
import sys
from pathlib import Path


def main(environment: Path) -> int:
    """Ask about every package of an environment and say what came of it."""
    (packages,) = environment.glob("lib/python3*/site-packages")
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--path", str(packages), "--format", "json",
         "--progress-spinner", "off"],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        print(f"advisories: not asked, the service is out of reach: {reason[:200]}")
        return 0
    # The project itself may not be published.
    found = [one for one in found if one["name"] != "closecall"]
    asked = [one for one in found if "skip_reason" not in one]
    bad = [one for one in asked if one["vulns"]]
    for one in bad:
        names = ", ".join(each["id"] for each in one["vulns"])
        print(f"{one['name']} {one['version']}: {names}", file=sys.stderr)
    if not asked:
        print(f"advisories: not asked, none of {len(found)} packages is known to the service here")
    else:
        print(
            f"advisories: {len(asked)} of {len(found)} packages asked about, {len(bad)} with one"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
