"""What a run asks besides its embedder: chat models that judge, and a subject that answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from closecall.errors import (
    ConfigurationError,
    MissingExtraError,
    MissingPriceError,
    ReplayMissError,
    UsageError,
)
from closecall.metrics.base import Metric
from closecall.records import Case

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.chat.base import ChatModel
    from closecall.runs.meter import Meter
    from closecall.subjects.base import Subject

Notice: TypeAlias = Callable[[str], None]
IN_PYTHON = "python:"
"""Starts the name of what was handed over as an object."""


class SubjectPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to make a subject again: a chat model's settings, or a command.

    ``endpoint`` is the address of an OpenAI-shaped server; None: the provider that ``model`` or
    the environment names. A key is never part of it. ``temperature`` and ``seed`` None: not sent.
    """

    command: str | None = None
    endpoint: str | None = None
    model: str | None = None
    system_prompt_file: str | None = None
    temperature: float | None = 0.0
    seed: int | None = 0
    max_tokens: int | None = None

    @property
    def hides_a_key(self) -> bool:
        """Whether something in the command would be masked wherever it is shown."""
        from closecall.embedders.remote.redaction import Secret, redact

        return self.command is not None and redact(self.command, Secret("")) != self.command

    def make(
        self,
        cassette: Cassette | None,
        on_notice: Notice | None,
        meter: Meter | None = None,
    ) -> Subject:
        """Return the subject; nothing is asked yet.

        Raises
        ------
        UsageError, ConfigurationError
            The plan makes none.
        """
        if self.command is not None:
            return self._command(cassette)
        from closecall.subjects.chat import ChatSubject, read_system_prompt

        prompt = self.system_prompt_file
        return ChatSubject(
            self._chat(cassette, on_notice, meter),
            system_prompt=None if prompt is None else read_system_prompt(Path(prompt)),
            temperature=self.temperature,
            seed=self.seed,
            max_tokens=self.max_tokens,
        )

    def _command(self, cassette: Cassette | None) -> Subject:
        from closecall.cassettes.secrets import Secrets
        from closecall.subjects.command import CommandSubject

        command = self.command or ""
        name = Secrets().name_in(command)
        if name or self.hides_a_key:
            what = f"the value of {name}" if name else "what looks like a key"
            raise UsageError(
                f"the subject's command holds {what}, and a run keeps its command: let the "
                "program read the variable itself"
            )
        if cassette is None:
            return CommandSubject(command)
        from closecall.subjects.recorded import RecordedSubject

        return RecordedSubject(cassette, lambda: CommandSubject(command), command)

    def _chat(
        self, cassette: Cassette | None, on_notice: Notice | None, meter: Meter | None
    ) -> ChatModel:
        from closecall.chat.registry import endpoint_chat, load_chat_model
        from closecall.runs.metered import metered_chat

        endpoint, model = self.endpoint, self.model
        if endpoint is not None and model is None:
            raise UsageError(
                "a subject behind an endpoint needs the model to ask for: --model NAME"
            )

        def make() -> ChatModel:
            if endpoint is not None and model is not None:
                return endpoint_chat(endpoint, model, on_notice=on_notice)
            return load_chat_model(model, on_notice=on_notice)

        named = f"{model}@{endpoint}" if endpoint is not None else model
        return metered_chat(make, named, cassette, meter, "subject")


Answers: TypeAlias = "Subject | SubjectPlan | Callable[[Case], Any]"
"""What can answer the cases of a run."""
Judging: TypeAlias = "str | ChatModel | Sequence[str | ChatModel]"
"""A chat model by name or as an object, or several as a panel."""


def subject_of(
    answers: Answers | None,
    cassette: Cassette | None,
    on_notice: Notice | None,
    meter: Meter | None = None,
) -> tuple[Subject | None, SubjectPlan | None]:
    """Return what answers, and how to make it again where that is known.

    With a ``meter`` its tokens are counted.
    """
    if answers is None:
        return None, None
    if isinstance(answers, SubjectPlan):
        return answers.make(cassette, on_notice, meter), answers
    found = _given_subject(answers, cassette)
    if meter is None:
        return found, None
    from closecall.runs.metered import metered_subject

    return metered_subject(found, meter), None


def _given_subject(answers: Any, cassette: Cassette | None) -> Subject:
    from closecall.subjects.base import Subject
    from closecall.subjects.python import CallableSubject

    if isinstance(answers, Subject):
        return answers
    if callable(answers):
        if cassette is None:
            return CallableSubject(answers)
        from closecall.subjects.recorded import RecordedSubject

        function = answers
        called = f"{IN_PYTHON}{getattr(function, '__qualname__', type(function).__name__)}"
        return RecordedSubject(cassette, lambda: CallableSubject(function), called)
    raise UsageError(
        "answers takes a subject, or a function from a case to its response; got "
        f"{type(answers).__name__}"
    )


def with_judge_models(
    metrics: Iterable[Metric],
    judge: Judging | None,
    cassette: Cassette | None,
    on_notice: Notice | None,
    meter: Meter | None = None,
) -> tuple[list[Metric], tuple[str, ...]]:
    """Return the metrics with a chat model where one is needed, and the models' names.

    With a ``meter`` the models' tokens are counted.

    Raises
    ------
    UsageError
        A chat model was named and no metric needs one.
    ConfigurationError
        One is needed and none is named or selected, or its settings are missing; nothing has been
        sent then.
    """
    chosen = list(metrics)
    from closecall.metrics.judge.base import JudgedMetric, lacking_chat, with_chat

    if meter is not None:
        from closecall.runs.metered import metered_metric

        chosen = [metered_metric(metric, meter) for metric in chosen]

    if not lacking_chat(chosen):
        if judge is not None and not any(isinstance(one, JudgedMetric) for one in chosen):
            raise UsageError(
                "a chat model to judge was named, and none of these metrics asks one: "
                f"{', '.join(metric.spec.id for metric in chosen)}"
            )
        return chosen, ()
    wanted: list[Any] = list(judge) if isinstance(judge, list | tuple) else [judge]
    try:
        models = [_model(one, cassette, on_notice, meter) for one in wanted]
    except (MissingExtraError, MissingPriceError, ReplayMissError):
        raise  # these say what to do by themselves
    except ConfigurationError as error:
        names = ", ".join(lacking_chat(chosen))
        raise ConfigurationError(f"{names} needs a chat model (--judge-model): {error}") from error
    told = tuple(
        one if isinstance(one, str) else f"{IN_PYTHON}{type(one).__name__}"
        for one in wanted
        if one is not None
    )
    return with_chat(chosen, models), told


def _model(
    one: str | ChatModel | None,
    cassette: Cassette | None,
    on_notice: Notice | None,
    meter: Meter | None,
) -> ChatModel:
    from closecall.runs.metered import metered_chat

    if one is not None and not isinstance(one, str):
        from closecall.chat.base import ChatModel

        if not isinstance(one, ChatModel):
            return one  # refused where it is bound to its metrics
        return metered_chat(lambda: one, None, cassette, meter, "judge")
    from closecall.chat.registry import load_chat_model

    def make() -> ChatModel:
        return load_chat_model(one, judge=True, on_notice=on_notice)

    return metered_chat(make, one, cassette, meter, "judge")
