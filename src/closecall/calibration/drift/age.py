"""Whether a calibration is so old, and so much used, that its promise needs another look."""

from __future__ import annotations

import datetime as dt

from closecall.calibration.drift.shift import TO_LABEL
from closecall.errors import DataError

OLD_DAYS = 90
OLD_DECISIONS = 1000
"""Both must be exceeded: a policy, not a measurement."""


def age_warning(created: str, now: dt.datetime, decisions: int) -> str | None:
    """Return what to say of a calibration by its age, None while it is young or little used.

    Parameters
    ----------
    created
        When it was made: ISO 8601, UTC where it names no zone.
    now
        The time to compare with, likewise.
    decisions
        How many decisions were made with it, so far as is known.

    Raises
    ------
    DataError
        ``created`` is no time.
    """
    try:
        made = dt.datetime.fromisoformat(created)
    except ValueError as error:
        raise DataError(
            f"created is {created!r}, not a time such as 2025-03-01T12:00:00Z"
        ) from error
    days = (_utc(now) - _utc(made)).days
    if days <= OLD_DAYS or decisions <= OLD_DECISIONS:
        return None
    return (
        f"the calibration is {days} days old and has made {decisions} decisions: label "
        f"{TO_LABEL} recent cases, drawn at random, to see whether its promise still holds"
    )


def _utc(time: dt.datetime) -> dt.datetime:
    return time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC)
