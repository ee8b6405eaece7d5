"""The documents of a run folder in the AEF 1.0 layout, as plain dicts; no file is touched here.

Builders check what the format demands and fix the order of members, so that equal facts give
equal bytes. Spelling is in ``wire``, small values in ``values``, arithmetic in ``tally``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from closecall.errors import UsageError
from closecall.records import ABSENCES, State
from closecall.runs.tally import KINDS, PENDING
from closecall.runs.values import (
    EXACT_VERSION,
    ID,
    MAX_PATH,
    REF,
    SHA256_URI,
    case_id,
    clip_reason,
    later,
    now_utc,
    ordered,
    require_match,
    require_plain,
    result_id,
    time_key,
)
from closecall.runs.wire import SCHEMA_VERSION

SEVERITIES = ("none", "low", "medium", "high", "critical")
ANNOTATORS = ("CODE", "LLM", "HUMAN", "HYBRID", "OTHER")
TARGET_MODES = ("live", "replayed", "scripted", "mocked")
STATUSES = ("running", "completed")
MAX_ID, MAX_VERSION, MAX_NAME = 256, 64, 256
"""Characters of an evaluator's id and version, and of a model's name."""

_ABSENT = frozenset({*ABSENCES, PENDING})
_RUN_MEMBERS = (
    "schemaVersion", "runId", "status", "producer", "subject", "suite", "config", "startedAt",
    "endedAt", "contentCapture", "execution", "ext",
)  # fmt: skip
_SCORE = ("metric", "value", "normalized")
_ANNOTATOR = ("kind", "model")
_TRIALS = ("n", "passed", "aggregation", "agree")
_RULE = ("expr", "threshold", "source")


class FileDigest(NamedTuple):
    """What a seal knows of a file: sha256 (64 hex digits) and size in bytes."""

    sha256: str
    size: int


class Written(NamedTuple):
    """A line of results.ndjson that is spelled already, of a case that was measured once."""

    case_id: str
    path: str
    data: bytes


def _short(text: str, most: int = MAX_NAME) -> str:
    """Return a name for people, its end replaced by an ellipsis when it is too long."""
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _one_of(value: object, allowed: Sequence[str], name: str) -> None:
    if value not in allowed:
        raise UsageError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def score(metric: str, value: float, normalized: float | None = None) -> dict[str, Any]:
    """Return one score: the declared metric, its value, the same between 0 and 1."""
    if normalized is not None and not 0 <= normalized <= 1:
        raise UsageError(f"normalized must be between 0 and 1, got {normalized}")
    members = {"metric": metric, "value": value, "normalized": normalized}
    return ordered(members, _SCORE, "a score", ("metric", "value"))


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
    duration_ms: float | None = None,
    ext: Mapping[str, Any] | None = None,
    trial: int | None = None,
    trials: Mapping[str, Any] | None = None,
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
        ``kind`` (CODE, LLM, HUMAN, HYBRID, OTHER) and ``model``.
    trial, trials
        Which run of a repeated case this is, from 0; or, on the line over all its runs, ``n``,
        ``passed``, ``aggregation`` and ``agree``.

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
    if not 1 <= len(identity) <= MAX_ID or len(version) > MAX_VERSION:
        raise UsageError("an evaluator's id has 1 to 256 characters, its version at most 64")
    filed = case_id(case)
    line: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "resultId": result_id(run_id, filed, path, trial),
        "caseId": filed,
        "path": require_plain(path, "path", MAX_PATH),
        "evaluator": {"id": identity, "version": version} if version else {"id": identity},
        "state": state,
    }
    if trial is not None and trials is not None:
        raise UsageError("a line is of one run, or over all of them")
    if trial is not None:
        line["trial"] = trial
    if trials is not None:
        line["trials"] = ordered(trials, _TRIALS, "trials", _TRIALS)
    if state in _ABSENT or (reason is not None and reason.strip()):
        line["reason"] = clip_reason(reason or "")
    if scores is not None:
        line["scores"] = [score(**ordered(s, _SCORE, "a score")) for s in scores]
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
    if duration_ms is not None:
        if duration_ms < 0:
            raise UsageError(f"a duration cannot be negative, got {duration_ms}")
        line["durationMs"] = duration_ms
    if ext:
        line["ext"] = dict(ext)
    return line


def run_document(
    header: Mapping[str, Any], status: str, *, ended_at: str | None = None
) -> dict[str, Any]:
    """Return run.json: the caller's header with its status and, once closed, its end.

    ``header`` needs ``runId``, ``producer``, ``subject``, ``startedAt`` and ``execution``.
    """
    _one_of(status, STATUSES, "status")
    facts = {name: value for name, value in header.items() if name != "endedAt"}
    facts |= {"schemaVersion": SCHEMA_VERSION, "status": status}
    if (status == "running") != (ended_at is None):
        raise UsageError("a closed run has an end, a running one has none")
    if ended_at is not None:
        facts["endedAt"] = later(ended_at, facts["startedAt"])
    required = ("runId", "producer", "subject", "startedAt", "execution")
    run = ordered(facts, _RUN_MEMBERS, "run.json", required)
    for name in ("producer", "subject", "suite", "execution"):
        if not isinstance(run.get(name, {}), Mapping):
            raise UsageError(f"{name} must be an object, got {run[name]!r:.60}")
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


def metrics_document(metrics: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return metrics.json: every metric that a score or the summary names, each once."""
    names = ("id", "kind", "direction", "scale", "unit", "description")
    declared = [ordered(m, names, "a metric", names[:4]) for m in metrics]
    for metric in declared:
        _one_of(metric["kind"], KINDS, "kind")
        _one_of(metric["direction"], ("higher_better", "lower_better", "none"), "direction")
    if len({m["id"] for m in declared}) != len(declared):
        raise UsageError("a metric is declared once")
    return {"schemaVersion": SCHEMA_VERSION, "metrics": declared}


def summary_document(
    run_id: str, lanes: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return summary.json from the entries of each lane (``tally.summary_entry`` makes them)."""
    for lane, entries in lanes.items():
        require_match(ID, lane, "lane")
        if len({(e["metric"], e["path"]) for e in entries}) != len(entries):
            raise UsageError(f"lane {lane}: a metric and path stand in the summary once")
    summary: dict[str, Any] = {"schemaVersion": SCHEMA_VERSION, "runId": run_id}
    summary["lanes"] = [{"lane": lane, "metrics": list(e)} for lane, e in lanes.items()]
    return summary


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
