"""``closecall metrics``: what can be measured, and what each metric needs."""

from __future__ import annotations

from typing import Any

import click

from closecall.cli.say import say, say_json


@click.command("metrics", epilog="Example: closecall metrics llm")
@click.argument("part", default="")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(part: str, as_json: bool) -> int:
    """List the metrics whose name holds PART: fields they need, scale, default cutoff.

    Options follow a metric's name, as in embedding_similarity:method=euclidean.
    """
    from closecall.metrics.registry import BUILT_IN
    from closecall.plugins import METRICS, plugin_names

    rows = [_facts(name) for name in BUILT_IN if part in name]
    rows += [
        {"name": name, "description": "of another package"}
        for name in plugin_names(METRICS)
        if part in name
    ]
    if as_json:
        say_json(rows)
    elif not rows:
        say(f"closecall: no metric's name holds {part!r}", err=True)
    else:
        wide = max(len(row["name"]) for row in rows)
        for row in rows:
            say(f"{row['name']:<{wide}}  {row['description']}")
            said = _words(row)
            if said:
                say(f"{'':<{wide}}  {said}")
    return 0


def _facts(name: str) -> dict[str, Any]:
    from closecall.errors import ClosecallError
    from closecall.metrics.registry import load_metric, metric_class

    options = dict(getattr(metric_class(name), "DEFAULTS", {}))
    try:
        spec = load_metric(name).spec
    except ClosecallError:  # one that cannot be made without an option
        told = (metric_class(name).__doc__ or "").partition("\n")[0]
        return {
            "name": name,
            "description": told.replace("``", "").removeprefix(f"{name}: "),
            "options": options,
        }
    return {
        "name": name,
        "description": spec.description,
        "needs": list(spec.needs),
        "low": spec.low,
        "high": spec.high,
        "default_cutoff": spec.default_cutoff,
        "options": options,
    }


def _words(row: dict[str, Any]) -> str:
    parts = []
    if row.get("needs"):
        cutoff = row["default_cutoff"]
        parts = [
            f"needs {' and '.join(row['needs'])}",
            "no bounds" if row["low"] is None else f"{row['low']:g} to {row['high']:g}",
            "no default cutoff" if cutoff is None else f"default cutoff {cutoff:g}",
        ]
    if row.get("options"):
        parts.append(f"options {', '.join(row['options'])}")
    return "; ".join(parts)
