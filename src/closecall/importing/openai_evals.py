"""OpenAI evals: files of samples, and the logs that runs of them leave.

A sample has an ``input``, a text or messages, and an ``ideal``, a text or several. A log has
events, one a line; those of one sample are put together: what was asked and answered
(``sampling``), what was expected (``raw_sample``, ``match``), and what the eval said of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closecall.datasets._values import kind
from closecall.importing.budget import CASE, Budget, weight
from closecall.importing.drafts import Draft, Taker
from closecall.importing.opened import Opened, Row
from closecall.importing.tally import Tally


def is_log(row: dict[str, Any]) -> bool:
    """Whether a row is a line of a log: its head or an event."""
    head = isinstance(row.get("spec"), dict) and {"run_id", "eval_name"} & row["spec"].keys()
    return bool(head) or {"run_id", "event_id", "type", "data"} <= row.keys()


def drafts(opened: Opened, tally: Tally) -> Iterator[Draft]:
    """Yield a draft for each sample, or for each answer that a log holds."""
    rows = opened.rows()
    first = next(rows, None)
    if first is None:
        return
    if first.value is not None and is_log(first.value):
        yield from _logged([first, *rows], tally, Budget(opened.path))
        return
    for row in (first, *rows):
        taker = Taker(row, tally, cells=opened.cells)
        yield _sample(row, taker, tally)


def _sample(row: Row, taker: Taker, tally: Tally) -> Draft:
    asked, messages = _asked(taker, "input")
    draft = Draft(
        place=row.place,
        row=taker.row,
        id=taker.text("id", "sample_id") or "",
        input=asked,
        references=taker.texts("ideal"),
        metadata=taker.left(),
        problems=taker.problems,
    )
    if messages:
        draft.metadata["messages"] = messages
        _tell_messages(tally)
    return draft


def _tell_messages(tally: Tally) -> None:
    tally.say(
        "the input is the user's last message, or the last of all where no user speaks; all "
        "messages are kept in metadata.messages"
    )


def _asked(taker: Taker, column: str) -> tuple[str | None, list[Any]]:
    """Return the question of a prompt, and its messages where there is more than the question."""
    value = taker.row.get(column)
    if not isinstance(value, list) or not value:
        return taker.text(column), []
    taker.value(column)
    spoken = []
    for at, message in enumerate(value):
        place = f"{column}[{at}]"
        if not isinstance(message, dict):
            taker.problems.append((place, f"expected a message, got {kind(message)}"))
            return None, []
        spoken.append((message.get("role"), _text(message.get("content"), place, taker)))
    by_user = [text for role, text in spoken if role == "user" and text is not None]
    asked = by_user[-1] if by_user else spoken[-1][1]
    return asked, value if len(value) > 1 else []


def _text(content: Any, place: str, taker: Taker) -> str | None:
    if content is None or isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    found = [part.get("text") for part in parts if isinstance(part, dict)]
    texts = [text for text in found if isinstance(text, str)]
    if not texts or len(texts) < len(parts):
        taker.problems.append((f"{place}.content", "is no text, and only texts can be compared"))
        return None
    return "\n".join(texts)


class _Sample:
    """The events of one sample of a log."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.events: dict[str, list[Any]] = {}


def _logged(rows: list[Row], tally: Tally, budget: Budget) -> Iterator[Draft]:
    """Yield the drafts of a log: one for each answer, of one sample all in one group."""
    samples: dict[str, _Sample] = {}
    for row in rows:
        value = row.value
        if value is None:
            yield Draft(place=row.place, row={}, problems=list(row.flaws))
        elif "spec" in value:
            _tell_run(value["spec"], tally)
        elif "event_id" in value:
            name = str(value.get("sample_id"))
            sample = samples.setdefault(name, _Sample(row))
            sample.events.setdefault(str(value.get("type")), []).append(value.get("data"))
    for name, sample in samples.items():
        yield from _answers(name, sample, tally, budget)


def _tell_run(spec: Any, tally: Tally) -> None:
    if isinstance(spec, dict):
        fns = spec.get("completion_fns")
        models = ", ".join(map(str, fns)) if isinstance(fns, list) else "an unnamed model"
        tally.say(f"the log of {spec.get('eval_name', 'an unnamed eval')} with {models}")


def _answers(name: str, sample: _Sample, tally: Tally, budget: Budget) -> Iterator[Draft]:
    events = {key: list(data) for key, data in sample.events.items()}
    raw = _first(events, "raw_sample") or {}
    sampling = _first(events, "sampling") or {}
    match = _first(events, "match") or {}
    taker = Taker(
        Row(
            sample.row.place,
            {
                "prompt": raw.get("input", sampling.get("prompt")),
                "ideal": raw.get("ideal", match.get("expected")),
            },
        ),
        tally,
    )
    asked, messages = _asked(taker, "prompt")
    references = taker.texts("ideal")
    sampled = sampling.get("sampled", match.get("sampled", match.get("picked")))
    answers = list(sampled) if isinstance(sampled, list) else [sampled]
    if events.get("sampling"):
        tally.count(
            "1 sample was asked again, such as by a model that grades; the first answer is the "
            "response, the others are kept in metadata.sampling",
            "{} samples were asked again, such as by a model that grades; the first answer is "
            "the response, the others are kept in metadata.sampling",
        )
    for one in events.get("error", ()):
        del one
        tally.count("1 error is kept in metadata.error", "{} errors are kept in metadata.error")
    kept: dict[str, Any] = {"sample_id": name}
    kept |= {key: data for key, data in raw.items() if key not in ("input", "ideal")}
    if match:
        kept["match"] = match
        tally.say(
            "what the eval said of an answer is kept in metadata.match; it is no label, which "
            "only a person gives"
        )
    kept |= {key: data for key, data in events.items() if data}
    if messages:
        kept["messages"] = messages
        _tell_messages(tally)
    again = CASE + weight(sample.events) if len(answers) > 1 else 0
    for number, answer in enumerate(answers or [None]):
        if number:
            budget.spend(again, sample.row.place, "the answers of a sample")
        problems = list(taker.problems)
        if not isinstance(answer, str | None):
            problems.append(("sampled", f"expected a text, got {kind(answer)}"))
        yield Draft(
            place=sample.row.place,
            row={"data": sample.events},
            id=name,
            input=asked,
            response=answer if isinstance(answer, str) else None,
            references=references,
            group=name if len(answers) > 1 else None,
            metadata=dict(kept),
            problems=problems,
        )


def _first(events: dict[str, list[Any]], kind_of: str) -> dict[str, Any] | None:
    """Take the first event of a kind that holds an object."""
    found = events.get(kind_of, [])
    for at, data in enumerate(found):
        if isinstance(data, dict):
            del found[at]
            return data
    return None
