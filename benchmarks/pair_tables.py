"""The tables of ``pair_model.py``: one model's figures, or the mean and spread of several."""

from __future__ import annotations

import statistics
from typing import Any

from closecall.stress.edits import FAMILIES
from closecall.stress.measuring import CHANGING

SAID = {
    "cosine": "pooled cosine",
    "recall": "alignment recall",
    "precision": "alignment precision",
    "pair": "pair model",
}
BASE_WORDS = {"references": "the references", "accepted": "short accepted responses"}


def markdown(found: dict[str, Any]) -> str:
    """Return all tables; every share of edits with the count it is of."""
    models = ", ".join(f"{one['name']} ({one['digest']})" for one in found["models"])
    lines = [f"Pair models: {models}.", "", *_sets(found["sets"])]
    for edits in found["edits"]:
        lines += ["", *_edits(edits)]
    if len(found["edits"]) > 1:
        for base in BASE_WORDS:
            some = [one for one in found["edits"] if one["base"] == base]
            lines += ["", *_edits(_together(base, some))] if len(some) > 1 else []
    return "\n".join(lines) + "\n"


def _sets(sets: list[dict[str, Any]]) -> list[str]:
    columns = (
        "set", "rows", "pooled cosine", "alignment recall / precision", "pair model",
        "scalars without it", "with it", "pairs/s", "times embedding",
    )  # fmt: skip
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for one in sets:
        alignment = " / ".join(_auc(one[key]) for key in ("recall", "precision") if key in one)
        cells = [
            one["set"],
            f"{one['n']:,}",
            _auc(one["cosine"]),
            alignment,
            _of_models([model["pair"]["auc"] for model in one["models"]], one["models"]),
            _judge([one["judge"]]),
            _judge([model["judge"] for model in one["models"]]),
            f"{one['cost']['pairsPerSecond']:.0f}",
            f"{one['cost']['ratio']:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _auc(entry: dict[str, float]) -> str:
    return f"{entry['auc']:.3f} ({entry['low']:.3f}-{entry['high']:.3f})"


def _of_models(values: list[float], models: list[dict[str, Any]]) -> str:
    return _auc(models[0]["pair"]) if len(values) == 1 else spread(values)


def _judge(entries: list[dict[str, float] | None]) -> str:
    there = [one for one in entries if one is not None]
    if not there:
        return "-"
    return ", ".join(
        f"{word}{spread([one[key] for one in there])}"
        for word, key in (("", "auc"), ("acc ", "accuracy"))
    )


def spread(values: list[float]) -> str:
    """Return a figure, or of several their mean, standard deviation, lowest and highest."""
    mean = statistics.mean(values)
    if len(values) == 1:
        return f"{mean:.3f}"
    apart = statistics.stdev(values)
    return f"{mean:.3f} ± {apart:.3f} ({min(values):.3f} to {max(values):.3f})"


def _together(base: str, edits: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts of all sets added up, each set at its own cutoffs."""

    def added(entries: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "families": {
                name: {
                    key: sum(one["families"][name][key] for one in entries)
                    for key in ("n", "accepted", "guarded")
                }
                for name in FAMILIES
            }
        }

    return {
        "set": "all of them",
        "base": base,
        "scores": {
            key: added([one["scores"][key] for one in edits]) for key in edits[0]["scores"]
        },
        "models": [
            added([one["models"][at] for one in edits]) for at in range(len(edits[0]["models"]))
        ],
    }


def _edits(edits: dict[str, Any]) -> list[str]:
    columns = [*edits["scores"], "pair"]
    heading = (
        f"Accepted edits of {BASE_WORDS[edits['base']]} of {edits['set']}, each score at its "
        "cutoff with 10 % of the natural wrong answers accepted; in brackets what guards leave of "
        "them."
    )
    lines = [
        heading,
        "",
        f"| edit | made | {' | '.join(SAID[name] for name in columns)} |",
        f"|---|---|{'---|' * len(columns)}",
    ]
    wrong = [name for name, kind in FAMILIES.items() if kind == "wrong"]
    groups = [(name, [name]) for name in (*wrong, *CHANGING)]
    for said, families in [*groups, ("**harmless, all of these**", list(CHANGING))]:
        made = _sum([edits["models"][0]], families, "n")[0]
        if not made:
            continue
        cells = [_share([edits["scores"][name]], families) for name in edits["scores"]]
        cells.append(_share(edits["models"], families))
        lines.append(f"| {said} | {made} | {' | '.join(cells)} |")
    return lines


def _share(entries: list[dict[str, Any]], families: list[str]) -> str:
    made, taken, guarded = (_sum(entries, families, key) for key in ("n", "accepted", "guarded"))
    shares = [[one / n for one, n in zip(part, made, strict=True)] for part in (taken, guarded)]
    mean, left = (statistics.mean(part) for part in shares)
    if len(entries) == 1:
        return f"{mean:.1%} ({left:.1%})"
    return (
        f"{mean:.1%} ± {statistics.stdev(shares[0]):.1%}, {min(shares[0]):.1%} to "
        f"{max(shares[0]):.1%} ({left:.1%})"
    )


def _sum(entries: list[dict[str, Any]], families: list[str], key: str) -> list[int]:
    return [sum(one["families"][name][key] for name in families) for one in entries]
