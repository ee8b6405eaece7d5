"""The documents of a run folder in the AEF 1.0 layout, as plain dicts; no file is touched here.

Builders check what the format demands and fix the order of members, so that equal facts give
equal bytes. Spelling is in ``wire``, small values in ``values``, arithmetic in ``tally``; their
public names are repeated here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from closecall.errors import UsageError
from closecall.records import ABSENCES, State
from closecall.runs.tally import KINDS, PENDING, Tally, exact_sum, summary_entry
from closecall.runs.values import (
    EXACT_VERSION,
    ID,
    MAX_CASE_ID,
    MAX_PATH,
    MAX_REASON,
    REF,
    SHA256_URI,
    case_id,
    clip_reason,
    encode_ref,
    later,
    now_utc,
    ordered,
    require_match,
    require_plain,
    result_id,
    time_key,
)
from closecall.runs.wire import (
    MAX_DEPTH,
    MAX_FILE,
    MAX_FILES,
    MAX_LINE,
    MAX_LINES,
    MAX_SEAL,
    SCHEMA_VERSION,
    dump_document,
    dump_line,
)

__all__ = [
    "MAX_CASE_ID",
    "MAX_DEPTH",
    "MAX_FILE",
    "MAX_FILES",
    "MAX_LINE",
    "MAX_LINES",
    "MAX_PATH",
    "MAX_REASON",
    "MAX_SEAL",
    "SCHEMA_VERSION",
    "FileDigest",
    "Tally",
    "case_id",
    "clip_reason",
    "dump_document",
    "dump_line",
    "encode_ref",
    "exact_sum",
    "later",
    "manifest",
    "metrics_document",
    "now_utc",
    "result_id",
    "result_line",
    "run_document",
    "run_hash",
    "score",
    "seal_document",
    "summary_document",
    "summary_entry",
    "usage_entries",
]

ROLES = ("agent", "judge", "attacker", "other")
SEVERITIES = ("none", "low", "medium", "high", "critical")
ANNOTATORS = ("CODE", "LLM", "HUMAN", "HYBRID", "OTHER")
TARGET_MODES = ("live", "replayed", "scripted", "mocked")
STATUSES = ("running", "completed", "aborted")
_ABSENT = frozenset({*ABSENCES, PENDING})
_MAX_ABORT_REASON = 2048
_RUN_MEMBERS = (
    "schemaVersion", "runId", "status", "abortReason", "producer", "subject", "deployment",
    "suite", "judges", "config", "startedAt", "endedAt", "contentCapture", "execution",
    "costPolicy", "otel", "imported", "provenance", "ext",
)  # fmt: skip
_ANNOTATOR = ("kind", "model", "promptHash", "rubricDigest", "panel")
_RULE = ("expr", "threshold", "source")
_TOKENS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
)


class FileDigest(NamedTuple):
    """What a seal knows of a file: sha256 (64 hex digits) and size in bytes."""

    sha256: str
    size: int


def _short(text: str, most: int = 256) -> str:
    """Return a name for people, its end replaced by an ellipsis when it is too long."""
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _one_of(value: object, allowed: Sequence[str], name: str) -> None:
    if value not in allowed:
        raise UsageError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def score(
    metric: str, value: float, normalized: float | None = None, label: str | None = None
) -> dict[str, Any]:
    """Return one score: the declared metric, its value, the same between 0 and 1, a class."""
    if normalized is not None and not 0 <= normalized <= 1:
        raise UsageError(f"normalized must be between 0 and 1, got {normalized}")
    members = {"metric": metric, "value": value, "normalized": normalized, "label": label}
    return ordered(members, tuple(members), "a score", ("metric", "value"))


def usage_entries(entries: Sequence[Mapping[str, Any]], most: int = 8) -> list[dict[str, Any]]:
    """Return what was consumed, one entry per role and model.

    A count that is unknown is left out (never 0), and so is an entry that knows nothing beyond
    role and model.
    """
    names = ("role", "model", *_TOKENS, "costUsd", "costSource")
    kept: list[dict[str, Any]] = []
    for entry in entries:
        usage = ordered(entry, names, "usage", ("role",))
        _one_of(usage["role"], ROLES, "usage role")
        if "model" in usage:
            usage["model"] = _short(usage["model"])
        for name in _TOKENS:
            count = usage.get(name, 0)
            if type(count) is not int or count < 0:
                raise UsageError(f"{name} must be a whole number, got {count!r}")
        if len(usage.keys() - {"role", "model", "costSource"}):
            kept.append(usage)
    parties = [(usage["role"], usage.get("model")) for usage in kept]
    if len(set(parties)) != len(parties) or len(kept) > most:
        raise UsageError(f"usage may name a role and model once, at most {most} in all")
    return kept


def result_line(  # noqa: C901, PLR0912 - one check a member, nothing nested
    run_id: str,
    case: str,
    path: str,
    evaluator: tuple[str, str],
    state: State | str,
    *,
    reason: str | None = None,
    scores: Sequence[Mapping[str, Any]] | None = None,
    verdict_rule: Mapping[str, Any] | None = None,
    annotator: Mapping[str, Any] | None = None,
    severity: str | None = None,
    uncertainty: Mapping[str, Any] | None = None,
    usage: Sequence[Mapping[str, Any]] = (),
    started_at: str | None = None,
    ended_at: str | None = None,
    duration_ms: float | None = None,
    lane: str | None = None,
    ext: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return one line of results.ndjson.

    Parameters
    ----------
    run_id, case, path
        The run, the case's name (filed as ``case_id`` spells it), the metric's place.
    evaluator
        Id and version (at most 64 characters); the same pair claims the same procedure.
    state, reason, scores
        An absence has a reason and no scores; a measured state has scores and may have a reason
        (a blank one is left out).
        Reasons longer than 4096 characters are cut and say so.
    verdict_rule
        ``expr``, ``threshold``, ``source``: for people, never evaluated.
    annotator
        ``kind`` (CODE, LLM, HUMAN, HYBRID, OTHER) and ``model``, ``promptHash``, ``rubricDigest``,
        ``panel``.

    Raises
    ------
    UsageError
        Something the format forbids; the message names the member.
    """
    state = str(state)
    _one_of(state, (*(s.value for s in State), PENDING), "state")
    if state in _ABSENT and (scores is not None or reason is None):
        raise UsageError(f"a result that is {state} has a reason and no scores, not even none")
    identity, version = evaluator
    if not 1 <= len(identity) <= 256 or len(version) > 64:  # noqa: PLR2004
        raise UsageError("an evaluator's id has 1 to 256 characters, its version at most 64")
    filed = case_id(case)
    line: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "resultId": result_id(run_id, filed, path),
        "caseId": filed,
        "path": require_plain(path, "path", MAX_PATH),
    }
    if lane is not None:
        require_match(ID, lane, "lane")
        line["lane"] = lane
    line["evaluator"] = {"id": identity, "version": version} if version else {"id": identity}
    line["state"] = state
    if state in _ABSENT or (reason is not None and reason.strip()):
        line["reason"] = clip_reason(reason or "")
    if scores is not None:
        line["scores"] = [
            score(**ordered(s, ("metric", "value", "normalized", "label"), "a score"))
            for s in scores
        ]
        if len({s["metric"] for s in line["scores"]}) != len(line["scores"]):
            raise UsageError("a line scores a metric at most once")
    if verdict_rule is not None:
        line["verdictRule"] = ordered(verdict_rule, _RULE, "verdictRule", ("expr",))
    if annotator is not None:
        line["annotator"] = ordered(annotator, _ANNOTATOR, "annotator", ("kind",))
        _one_of(line["annotator"]["kind"], ANNOTATORS, "annotator kind")
        if "model" in line["annotator"]:
            line["annotator"]["model"] = _short(line["annotator"]["model"])
    if severity is not None:
        _one_of(severity, SEVERITIES, "severity")
        line["severity"] = severity
    if uncertainty is not None:
        line["uncertainty"] = ordered(uncertainty, ("stderr", "ci"), "uncertainty")
    consumed = usage_entries(usage)
    if consumed:
        line["usage"] = consumed
    line.update(_times(started_at, ended_at, duration_ms))
    if ext:
        line["ext"] = dict(ext)
    return line


def _times(
    started_at: str | None, ended_at: str | None, duration_ms: float | None
) -> dict[str, Any]:
    for time in (started_at, ended_at):
        if time is not None:
            time_key(time)
    if started_at is not None and ended_at is not None:
        ended_at = later(ended_at, started_at)
    if duration_ms is not None and duration_ms < 0:
        raise UsageError(f"a duration cannot be negative, got {duration_ms}")
    times = {"startedAt": started_at, "endedAt": ended_at, "durationMs": duration_ms}
    return {name: value for name, value in times.items() if value is not None}


def run_document(
    header: Mapping[str, Any],
    status: str,
    *,
    ended_at: str | None = None,
    abort_reason: str | None = None,
) -> dict[str, Any]:
    """Return run.json: the caller's header with its status and, once closed, its end.

    ``header`` needs ``runId``, ``producer``, ``subject``, ``startedAt`` and ``execution``.
    """
    _one_of(status, STATUSES, "status")
    facts = dict(header)
    for name in ("endedAt", "abortReason"):
        facts.pop(name, None)
    facts |= {"schemaVersion": SCHEMA_VERSION, "status": status}
    if (status == "running") != (ended_at is None):
        raise UsageError("a closed run has an end, a running one has none")
    if (status == "aborted") != (abort_reason is not None):
        raise UsageError("an aborted run, and no other, has a reason for it")
    if ended_at is not None:
        facts["endedAt"] = later(ended_at, facts["startedAt"])
    if abort_reason is not None:
        facts["abortReason"] = clip_reason(abort_reason, _MAX_ABORT_REASON)
    required = ("runId", "producer", "subject", "startedAt", "execution")
    run = ordered(facts, _RUN_MEMBERS, "run.json", required)
    require_match(ID, run["runId"], "runId")
    time_key(run["startedAt"])
    require_match(EXACT_VERSION, run["producer"].get("version"), "producer.version")
    require_match(REF, run["subject"].get("ref"), "subject.ref")
    if "suite" in run:
        require_match(REF, run["suite"].get("ref"), "suite.ref")
        require_match(EXACT_VERSION, run["suite"].get("version"), "suite.version")
        if "digest" in run["suite"]:
            require_match(SHA256_URI, run["suite"]["digest"], "suite.digest")
    _one_of(run["execution"].get("targetMode"), TARGET_MODES, "execution.targetMode")
    if "contentCapture" in run:
        _one_of(run["contentCapture"], ("on", "off"), "contentCapture")
    return run


def metrics_document(
    metrics: Sequence[Mapping[str, Any]], ext: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return metrics.json: every metric that a score or the summary names, each once."""
    names = ("id", "kind", "direction", "scale", "unit", "description")
    declared = [ordered(m, names, "a metric", names[:4]) for m in metrics]
    for metric in declared:
        _one_of(metric["kind"], KINDS, "kind")
        _one_of(metric["direction"], ("higher_better", "lower_better", "none"), "direction")
    if len({m["id"] for m in declared}) != len(declared):
        raise UsageError("a metric is declared once")
    document: dict[str, Any] = {"schemaVersion": SCHEMA_VERSION, "metrics": declared}
    return document | ({"ext": dict(ext)} if ext else {})


def summary_document(
    run_id: str,
    lanes: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    usage: Sequence[Mapping[str, Any]] = (),
    cost: Mapping[str, Any] | None = None,
    ext: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return summary.json from the entries of each lane (``summary_entry`` makes them)."""
    for lane, entries in lanes.items():
        require_match(ID, lane, "lane")
        if len({(e["metric"], e["path"]) for e in entries}) != len(entries):
            raise UsageError(f"lane {lane}: a metric and path stand in the summary once")
    summary: dict[str, Any] = {"schemaVersion": SCHEMA_VERSION, "runId": run_id}
    summary["lanes"] = [{"lane": lane, "metrics": list(e)} for lane, e in lanes.items()]
    if cost is not None:
        summary["cost"] = ordered(cost, ("totalUsd", "source"), "cost", ("totalUsd",))
    consumed = usage_entries(usage, 64)
    if consumed:
        summary["usage"] = consumed
    return summary | ({"ext": dict(ext)} if ext else {})


def manifest(digests: Mapping[str, FileDigest]) -> bytes:
    """Return the text whose hash is the run's: its files by the bytes of their path."""
    paths = sorted(digests, key=str.encode)
    lines = (f"{digests[p].sha256}  {digests[p].size}  {p}\n" for p in paths)
    return "".join(lines).encode("utf-8")


def run_hash(digests: Mapping[str, FileDigest]) -> str:
    """Return the sha256 (64 hex digits) of the manifest."""
    return hashlib.sha256(manifest(digests)).hexdigest()


def seal_document(
    run: Mapping[str, Any], digests: Mapping[str, FileDigest], sealed_at: str | None = None
) -> dict[str, Any]:
    """Return seal.json for a closed run: what each file was, and who made it.

    Shows that files did not change after sealing; it says neither who sealed nor that the
    content is true. ``sealed_at`` is never before the run's end.
    """
    if run["status"] == "running":
        raise UsageError("a running run cannot be sealed")

    def part(member: object, *names: str) -> dict[str, Any] | None:
        return {n: member[n] for n in names if n in member} if isinstance(member, dict) else None

    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": path, "digest": {"sha256": digests[path].sha256}}
            for path in sorted(digests, key=str.encode)
        ],
        "predicateType": "https://agenteval.dev/aef/1/evidence",
        "predicate": {
            "schemaVersion": SCHEMA_VERSION,
            "runId": run["runId"],
            "runHash": run_hash(digests),
            "producer": part(run["producer"], "name", "version"),
            "subject": part(run["subject"], "ref", "version"),
            "deployment": part(run.get("deployment"), "ref"),
            "suite": part(run.get("suite"), "ref", "version", "digest"),
            "judges": [part(judge, "model", "rubricDigest") for judge in run.get("judges", ())],
            "closedAt": run["endedAt"],
            "sealedBy": "producer",
            "sealedAt": later(sealed_at or now_utc(), run["endedAt"]),
        },
    }
