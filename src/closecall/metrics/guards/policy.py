"""What a guard that differs does to an answer that a cutoff accepts: the policy beside a metric.

A similarity passes a changed number, so the guards look at every answer that a cutoff accepts.
One that differs leaves the answer *unsure*, for a person to look at, or *rejects* it.

The default is unsure for each. On 17 sets of pairs that people labelled, counted by
``benchmarks/guards.py``, some guard differs on 8,238 of 25,336 wrong answers (32.5 %) and on 692
of 23,796 right ones (2.9 %; names 1.1, numbers 0.9, negation 0.8, quantifiers and antonyms 0.1
each): too many to reject unseen, and what is left unsure breaks no promise about false accepts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec

from closecall.errors import UsageError
from closecall.metrics.base import MetricSpec
from closecall.metrics.guards.base import Verdict, against_any
from closecall.metrics.guards.metric import GUARDS, shown
from closecall.metrics.sides import reference_side, response_side
from closecall.records import JSON, Case, Unmeasured

UNSURE, REJECT, OFF = "unsure", "reject", "off"
ACTIONS = (UNSURE, REJECT, OFF)


class Held(NamedTuple):
    """Why an answer that a cutoff accepts is not accepted: at least one guard differs.

    ``action`` is the strictest of those guards', ``words`` says what was found, for a person.
    """

    action: str
    guards: tuple[str, ...]
    words: str
    findings: dict[str, JSON]


class GuardPolicy(msgspec.Struct, frozen=True, dict=True):
    """What each guard does where it differs: ``unsure``, ``reject`` or ``off``, by its name."""

    actions: dict[str, str]

    def __post_init__(self) -> None:
        for name, action in self.actions.items():
            if name not in GUARDS:
                raise UsageError(f"there is no guard {name!r}; guards: {', '.join(GUARDS)}")
            if action not in ACTIONS:
                raise UsageError(f"guard {name}: {action!r} is none of {', '.join(ACTIONS)}")

    @cached_property
    def active(self) -> dict[str, str]:
        """The guards that do something, in the order they are reported."""
        found = {name: self.actions.get(name, OFF) for name in GUARDS}
        return {name: action for name, action in found.items() if action != OFF}

    def check(self, case: Case) -> Held | None:
        """Return why an answer is held back, None where no guard differs.

        About 0.1 ms a guard and short reference; nothing is embedded. An answer that is a
        reference, letter for letter, contradicts nothing and is not looked at.
        """
        references, response = reference_side(case), response_side(case)
        if isinstance(references, Unmeasured) or isinstance(response, Unmeasured):
            return None
        if response.texts[0] in references.texts:
            return None
        differ: dict[str, Verdict] = {}
        for name in self.active:
            found = against_any(GUARDS[name], references.texts, response.texts[0], case.input)
            if found.finding.state == "differ":
                differ[name] = found
        if not differ:
            return None
        actions = {self.actions[name] for name in differ}
        return Held(
            action=REJECT if REJECT in actions else UNSURE,
            guards=tuple(differ),
            words="; ".join(f"{name}: {one.finding.words}" for name, one in differ.items()),
            findings={name: shown(one, references.written) for name, one in differ.items()},
        )


DEFAULT_POLICY = GuardPolicy(dict.fromkeys(GUARDS, UNSURE))
NO_GUARDS = GuardPolicy({})


def guard_policy(given: str | Mapping[str, str] | GuardPolicy | None) -> GuardPolicy:
    """Return the policy that was asked for.

    Parameters
    ----------
    given
        None: the default. ``unsure``, ``reject`` or ``off``: for every guard. Pairs such as
        ``numbers=reject,names=off``, or a mapping: the default with these changed.

    Raises
    ------
    UsageError
        A guard or an action that there is not.
    """
    if given is None:
        return DEFAULT_POLICY
    if isinstance(given, GuardPolicy):
        return given
    if isinstance(given, str):
        text = given.strip().lower()
        if text in ACTIONS:
            return GuardPolicy({} if text == OFF else dict.fromkeys(GUARDS, text))
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        if not pairs or any(not sep for _, sep, _ in pairs):
            raise UsageError(
                f"guards: {given!r} is none of {', '.join(ACTIONS)}, nor pairs such as "
                f"numbers={REJECT},names={OFF} (guards: {', '.join(GUARDS)})"
            )
        names = [name.strip() for name, _, _ in pairs]
        if len(set(names)) < len(names):
            raise UsageError(f"guards: {given!r} names a guard twice")
        given = {name.strip(): action.strip() for name, _, action in pairs}
    if not isinstance(given, Mapping):
        raise UsageError(
            f"guards: expected one of {', '.join(ACTIONS)}, pairs such as numbers={REJECT}, or a "
            f"mapping; got {type(given).__name__}"
        )
    return GuardPolicy({**DEFAULT_POLICY.actions, **given})


def is_guarded(spec: MetricSpec) -> bool:
    """Whether the guards stand beside a metric: it holds a response against references."""
    return spec.guarded and {"references", "response"} <= set(spec.needs)
