"""closecall as an assertion of promptfoo.

A file beside the configuration holds one line::

    from closecall.integrations.promptfoo import get_assert

and the configuration names it::

    assert:
      - type: python
        value: file://closecall_assert.py
        config: {calibration: cutoff.json}

``config`` takes ``metric``, ``cutoff``, ``calibration``, ``embedder`` and ``guards`` as closecall
does, and says where the texts stand: ``reference`` (a text or a list of them), or the name of a
variable in ``reference_var``; ``context_var`` and ``input_var`` likewise. Without them variables
are read by their usual names (``expected``, ``ground_truth``, ``context``, ``question``, ...).

The result passes where closecall's cutoff accepts the answer; leave promptfoo's ``threshold``
away. What is not measured, or left unsure, raises: promptfoo fails the assertion and shows the
message, also under ``not-python``, which would turn a result that does not pass into a pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from closecall.asserting.outcomes import NotMeasuredError
from closecall.datasets._fields import CONTEXT, INPUT, REFERENCE, field_of
from closecall.errors import UsageError
from closecall.integrations.verdict import asked, verdict_on
from closecall.records import Case

DECIDING = ("metric", "cutoff", "calibration", "embedder", "guards")
PLACES = ("reference", "reference_var", "context_var", "input_var")


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return promptfoo's grading result for one output.

    Parameters
    ----------
    output
        What the provider answered.
    context
        promptfoo's: ``vars`` and ``config`` are read.

    Returns
    -------
    dict
        ``pass``, ``score`` (0 to 1), ``reason``, and in ``metadata`` what was measured.

    Raises
    ------
    NotMeasuredError
        There is no number, or nobody knows; the message says why.
    ClosecallError
        ``config`` is wrong.
    """
    config = context.get("config") or {}
    _refuse_unknown(config)
    question = asked(**{name: config[name] for name in DECIDING if config.get(name) is not None})
    verdict = verdict_on(_case(output, context.get("vars") or {}, config), question)
    if verdict.accepted is None:
        why = (
            verdict.reason
            if verdict.unsure
            else f"{verdict.facts['metric']} has no cutoff: give `cutoff` or `calibration`"
        )
        raise NotMeasuredError(f"undecided: {why}", verdict.result)
    return {
        "pass": verdict.accepted,
        "score": verdict.score,
        "reason": verdict.reason,
        "metadata": {"closecall": verdict.facts},
    }


def _refuse_unknown(config: Mapping[str, Any]) -> None:
    known = (*DECIDING, *PLACES)
    unknown = [key for key in config if key not in known]
    if unknown:
        raise UsageError(f"config: there is no {unknown[0]!r}; it takes {', '.join(known)}")


def _case(output: Any, variables: Mapping[str, Any], config: Mapping[str, Any]) -> Case:
    reference = config.get("reference")
    if reference is None:
        reference = _variable(variables, config.get("reference_var"), REFERENCE)
    question = _variable(variables, config.get("input_var"), INPUT)
    if not isinstance(output, str | None):
        raise UsageError(
            f"the output is no text but {type(output).__name__}; make it one with `transform`"
        )
    return Case(
        id="output",
        input=question if isinstance(question, str) else None,
        response=output,
        references=_texts(reference, "the reference"),
        context=_texts(_variable(variables, config.get("context_var"), CONTEXT), "the context"),
        metadata=dict(variables),
    )


def _variable(variables: Mapping[str, Any], name: str | None, field: str) -> Any:
    """Return the value of a variable by its name, else by the field its name stands for.

    Raises
    ------
    UsageError
        There is no variable of that name, or there are several of that field.
    """
    if name is not None:
        if name not in variables:
            there = ", ".join(map(str, variables)) or "none"
            raise UsageError(f"config: there is no variable {name!r}; variables: {there}")
        return variables[name]
    found = [key for key in variables if field_of(str(key)) == field]
    if len(found) > 1:
        raise UsageError(
            f"the variables {' and '.join(found)} could both be the {field}; name one in "
            f"config.{field}_var"
        )
    return variables[found[0]] if found else None


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise UsageError(f"{what} must be a text or a list of texts, got {type(value).__name__}")
