"""Judges: what each needs, what becomes of a reply, and of every way to fail."""

import pytest
from judge_fakes import TALK, TOOLS, FakeChat, case, failure, reply, user_text, verdict

from closecall.chat.base import ChatUsage
from closecall.errors import ConfigurationError, UsageError
from closecall.metrics.base import BatchMetric, LoadingMetric
from closecall.metrics.judge.base import JudgedMetric, lacking_chat, with_chat
from closecall.metrics.registry import BUILT_IN, load_metric
from closecall.records import Measured, State, Unmeasured
from closecall.runs.results import decide

JUDGES = [name for name in BUILT_IN if name.startswith("llm_")]
THREE = '{"thoughts": "t", "reason": "r", "relevance": 5, "truth": 2, "completeness": 4}'
AGENT = {"input": None, "response": None, "metadata": {"messages": TALK, "tools": TOOLS}}
INPUT, RESPONSE = "the case's input is missing", "the case's response is missing"
REFERENCE, CONTEXT = "the case's reference is missing", "the case's context is missing"
NEEDS = {
    "llm_relevance": {"input": INPUT, "response": RESPONSE},
    "llm_coherence": {"input": None, "response": RESPONSE},
    "llm_fluency": {"input": None, "response": RESPONSE},
    "llm_groundedness": {"input": None, "context": CONTEXT, "response": RESPONSE},
    "llm_completeness": {"input": None, "references": REFERENCE, "response": RESPONSE},
    "llm_equivalence": {"input": None, "references": REFERENCE, "response": RESPONSE},
    "llm_retrieval": {"input": INPUT, "context": CONTEXT, "response": None},
    "llm_relevance_truth_completeness": {"input": INPUT, "response": RESPONSE},
    "llm_intent_resolution": {"input": INPUT, "response": RESPONSE},
    "llm_task_adherence": {"input": INPUT, "response": RESPONSE},
    "llm_safety_hate_and_unfairness": {"input": None, "response": RESPONSE},
    "llm_safety_violence": {"input": None, "response": RESPONSE},
    "llm_safety_self_harm": {"input": None, "response": RESPONSE},
    "llm_safety_sexual": {"input": None, "response": RESPONSE},
    "llm_safety_protected_material": {"input": None, "response": RESPONSE},
    "llm_safety_code_vulnerability": {"input": None, "response": RESPONSE},
    "llm_safety_ungrounded_attributes": {"context": CONTEXT, "response": RESPONSE},
    "llm_safety_indirect_attack": {
        "context": f"{CONTEXT}, and its messages hold no result of a tool",
        "response": RESPONSE,
    },
}
"""Of each judge: what is said where a field is missing; None where it does without."""


def says(request):
    """Return a verdict in the form that the request asks for, the first choice of each score."""
    properties = request.schema["properties"]
    if "truth" in properties:
        return THREE
    kind = properties["score"]
    return verdict(True if kind["type"] == "boolean" else kind["enum"][-2])


def bound(name="llm_relevance", said=says, **options):
    chat = FakeChat(said)
    text = ":".join((name, *(f"{key}={value}" for key, value in options.items())))
    return load_metric(text).bound(chat), chat


def measure(said, one=None, **options):
    metric, _ = bound(said=said, **options)
    return metric.measure(one or case(), {})


def reason(found, state=State.NOT_MEASURED):
    assert isinstance(found, Unmeasured), found
    assert found.state is state
    return found.reason


@pytest.mark.parametrize("name", JUDGES)
def test_a_judge_is_made_by_its_name_and_measures_once_bound(name):
    made = load_metric(name)
    assert isinstance(made, JudgedMetric)
    assert made.judges == ()
    assert not made.spec.guarded
    with pytest.raises(ConfigurationError, match=f"{name} needs a chat model: --judge-model"):
        made.load()
    metric, chat = bound(name)
    assert isinstance(metric, BatchMetric)
    assert isinstance(metric, LoadingMetric)
    metric.load()
    assert [judge.name for judge in metric.judges] == ["stub-1@test"]
    assert made.judges == ()
    one = case(**AGENT) if name == "llm_tool_call_accuracy" else case()
    assert metric.texts(one) == ()
    found = metric.measure(one, {})
    assert isinstance(found, Measured)
    assert found.similarity == found.value
    assert metric.spec.low <= found.value <= metric.spec.high
    assert len(chat.calls) == 1


@pytest.mark.parametrize(
    ("name", "field", "said"),
    [(name, field, said) for name, fields in NEEDS.items() for field, said in fields.items()],
)
def test_what_a_judge_needs(name, field, said):
    empty = () if field in ("context", "references") else None
    blank = (" ",) if empty == () else " \n"
    metric, chat = bound(name)
    absent = metric.measure(case(**{field: empty}), {})
    if said is None:
        assert isinstance(absent, Measured)
        return
    assert reason(absent) == said
    assert reason(metric.texts(case(**{field: blank}))) == said.replace("missing", "blank", 1)
    assert chat.calls == []
    assert field in metric.spec.needs


def test_every_judge_but_that_of_calls_is_in_the_table_of_needs():
    assert sorted([*NEEDS, "llm_tool_call_accuracy"]) == sorted(JUDGES)


@pytest.mark.parametrize(
    ("name", "seen", "unseen"),
    [
        ("llm_fluency", ["response"], ["user message", "context", "reference"]),
        ("llm_retrieval", ["user message", "context"], ["response", "reference"]),
        ("llm_groundedness", ["user message", "context", "response"], ["reference"]),
        ("llm_equivalence", ["user message", "reference", "response"], ["context"]),
        ("llm_relevance", ["user message", "response"], ["context", "reference"]),
    ],
)
def test_a_judge_sees_what_it_needs_and_no_more(name, seen, unseen):
    metric, chat = bound(name)
    metric.measure(case(), {})
    text = user_text(chat.requests[0])
    assert all(f"<<<BEGIN {part} " in text for part in seen)
    assert not any(f"<<<BEGIN {part} " in text for part in unseen)


def test_every_passage_and_reference_is_shown_with_its_number():
    metric, chat = bound("llm_groundedness")
    metric.measure(case(context=("first", " ", "second")), {})
    text = user_text(chat.requests[0])
    assert "<<<BEGIN context 1 of 2 " in text
    assert "<<<BEGIN context 2 of 2 " in text
    assert text.index("first") < text.index("second")


@pytest.mark.parametrize(
    ("name", "bound_tokens"),
    [("llm_relevance", 800), ("llm_retrieval", 1600), ("llm_equivalence", None)],
)
def test_a_request_is_repeatable_and_bounded(name, bound_tokens):
    metric, chat = bound(name)
    metric.measure(case(), {})
    metric.measure(case(), {})
    first, second = chat.requests
    assert first == second
    assert (first.temperature, first.seed, first.max_tokens) == (0.0, 0, bound_tokens)
    assert first.schema["required"] == ["thoughts", "reason", "score"]
    assert [message.role for message in first.messages] == ["system", "user"]
    assert bound(name, max_tokens=50)[0].max_tokens == 50
    assert bound(name, max_tokens="none")[0].max_tokens is None


@pytest.mark.parametrize(
    ("score", "rating", "state", "of_hundred"),
    [
        (1, "Unacceptable", State.FAILED, 0),
        (2, "Poor", State.FAILED, 25),
        (3, "Average", State.FAILED, 50),
        (3.5, "Good", State.FAILED, 62.5),
        (4, "Good", State.PASSED, 75),
        (4.5, "Exceptional", State.PASSED, 87.5),
        (5, "Exceptional", State.PASSED, 100),
    ],
)
def test_four_and_five_pass(score, rating, state, of_hundred):
    metric, _ = bound(said=verdict(score))
    found = metric.measure(case(), {})
    assert (found.value, found.score, found.details["rating"]) == (score, of_hundred, rating)
    decided = decide(metric, found)
    assert decided.state is state
    assert f"relevance {score:.4f}: " in decided.reason


@pytest.mark.parametrize(
    ("said", "value", "rating", "state"),
    [
        ("true", 1, "Exceptional", State.PASSED),
        ("false", 0, "Unacceptable", State.FAILED),
        ("1", 1, "Exceptional", State.PASSED),
        ("0", 0, "Unacceptable", State.FAILED),
    ],
)
def test_calls_of_tools_are_right_or_wrong(said, value, rating, state):
    metric, _ = bound("llm_tool_call_accuracy", said=f'{{"reason": "r", "score": {said}}}')
    found = metric.measure(case(**AGENT), {})
    assert (found.value, found.details["rating"]) == (value, rating)
    assert decide(metric, found).state is state


@pytest.mark.parametrize(
    ("severity", "level", "state"),
    [
        (0, "very low", State.PASSED),
        (2, "low", State.PASSED),
        (3, "low", State.PASSED),
        (4, "medium", State.FAILED),
        (7, "high", State.FAILED),
    ],
)
def test_low_severity_is_good(severity, level, state):
    metric, _ = bound("llm_safety_violence", said=verdict(severity))
    found = metric.measure(case(), {})
    assert found.value == 7 - severity
    assert found.score == pytest.approx(100 * (7 - severity) / 7, abs=1e-4)
    assert found.details["severity"] == severity
    assert found.details["severityLevel"] == level
    assert decide(metric, found).state is state
    assert "chat model's opinion" in metric.spec.description


def test_the_lowest_of_three_scores_counts():
    found = measure(THREE, name="llm_relevance_truth_completeness")
    assert found.value == 2
    told = {name: found.details[name] for name in ("relevance", "truth", "completeness")}
    assert told == {"relevance": 5, "truth": 2, "completeness": 4}
    assert found.details["rating"] == "Poor"


def test_what_the_judge_said_is_kept():
    said = reply(verdict(3, "Only in part.", "First, ..."), model="stub-1-2026")
    found = measure(said)
    assert found.details == {
        "rating": "Average",
        "reason": "Only in part.",
        "thoughts": "First, ...",
        "judge": "stub-1@test",
        "model": "stub-1-2026",
        "promptTokens": 100,
        "completionTokens": 20,
    }


def test_unknown_tokens_stay_absent():
    found = measure(reply(verdict(), usage=ChatUsage(None, 20)))
    assert "promptTokens" not in found.details
    assert found.details["completionTokens"] == 20


FAILURES = {
    "rate limited": (failure(), "the judge gave no reply: HTTP 429: too many requests"),
    "bad request": (
        failure("refused", "HTTP 400: use max_completion_tokens", 400),
        "the judge gave no reply: HTTP 400: use max_completion_tokens",
    ),
    "slow": (failure("timeout", "no reply in 60 s", None), "no reply in 60 s"),
    "broken": (failure("broken", "the body is no JSON", 200), "the body is no JSON"),
    "no recording": (failure("missing", "no recording of it", None), "no recording of it"),
    "cut off": (
        reply('{"thoughts": "and th', finish="length"),
        "the judge's reply was cut off: raise its bound, llm_relevance:max_tokens=1600",
    ),
    "cut off at its end": (reply(verdict(), finish="length"), "the judge's reply was cut off"),
    "filtered": (reply("", finish="content_filter"), "the provider's content filter"),
    "empty": (reply(" \n"), "the judge's reply is empty"),
    "declined": (
        reply("I cannot read this.", finish="refusal"),
        "the judge declined to judge\nit said: 'I cannot read this.'",
    ),
}


@pytest.mark.parametrize(("said", "why"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_not_measured_and_says_why(said, why):
    metric, chat = bound(said=lambda _: said)
    found = metric.measure(case(), {})
    assert why in reason(found)
    assert decide(metric, found).state is State.NOT_MEASURED
    assert len(chat.calls) == 1


def test_a_model_that_raises_costs_one_call_and_no_crash():
    metric, chat = bound(said=RuntimeError("boom"))
    found = metric.measure_batch([case(), case("2")], {})
    why = "the judge failed: RuntimeError: boom"
    assert [reason(one, State.ERROR) for one in found] == [why, why]
    assert len(chat.calls) == 1


def test_a_model_that_cannot_be_used_at_all_ends_the_work():
    metric, chat = bound(said=ConfigurationError("OPENAI_API_KEY is refused"))
    with pytest.raises(ConfigurationError, match="is refused"):
        metric.measure_batch([case(), case("2")], {})
    assert len(chat.calls) == 1


def test_a_model_that_breaks_its_contract_is_an_error():
    metric, chat = bound(said=lambda _: None)
    assert "a NoneType instead" in reason(metric.measure(case(), {}), State.ERROR)
    chat.complete = lambda requests: []
    assert "0 replies to 1" in reason(metric.measure(case(), {}), State.ERROR)


def test_one_repair_is_asked_for_with_the_reply_that_cannot_be_read():
    metric, chat = bound(said=["I give it a solid four!", verdict(4)])
    found = metric.measure(case(), {})
    assert found.value == 4
    assert found.details["repairedReplies"] == 1
    assert found.details["promptTokens"] == 200
    first, second = chat.requests
    assert second.messages[:2] == first.messages
    assert [message.role for message in second.messages[2:]] == ["assistant", "user"]
    assert second.messages[2].content == "I give it a solid four!"
    assert "it holds no JSON object" in second.messages[3].content


def test_after_one_repair_it_is_not_measured_and_the_words_are_kept():
    metric, chat = bound(said=lambda _: "I would rather\nnot say. " + "x" * 900)
    why = reason(metric.measure(case(), {}))
    assert why.startswith("the judge's reply cannot be read")
    assert "'I would rather not say. xxx" in why
    assert "cut, 924 characters in all" in why
    assert len(why) < 500
    assert len(chat.calls) == 2


def test_a_repair_that_fails_keeps_the_words_too():
    found = measure(["nonsense", failure()])
    assert "asked again: the judge gave no reply: HTTP 429" in reason(found)
    assert "'nonsense'" in reason(found)


def test_a_batch_is_one_call_and_one_for_repairs_and_costs_nobody_else():
    said = {"a": verdict(5), "b": "unreadable", "c": failure(), "d": verdict(1), "e": "?"}

    def answer(request):
        letter = next(x for x in said if f"letter {x}\n" in user_text(request))
        return verdict(3) if len(request.messages) > 2 and letter == "b" else said[letter]

    metric, chat = bound(said=answer)
    cases = [case(x, response=f"letter {x}\n") for x in said]
    cases.insert(2, case("gap", response=None))
    found = metric.measure_batch(cases, {})
    values = [one.value if isinstance(one, Measured) else None for one in found]
    assert values == [5, 3, None, None, 1, None]
    assert [len(call) for call in chat.calls] == [5, 2]
    assert reason(found[2]) == RESPONSE


def test_nothing_is_sent_for_cases_that_lack_something():
    metric, chat = bound()
    assert (
        reason(metric.measure_batch([case(response="")], {})[0]) == "the case's response is blank"
    )
    assert metric.measure_batch([], {}) == []
    assert chat.calls == []


@pytest.mark.parametrize("name", JUDGES)
def test_a_refusal_that_is_expected_is_left_to_its_check(name):
    apart = {
        "llm_relevance", "llm_groundedness", "llm_completeness",
        "llm_relevance_truth_completeness",
    }  # fmt: skip
    facts = {**case(**AGENT).metadata, "expected_refusal": True}
    metric, chat = bound(name)
    found = metric.measure(case(response=TALK[-1]["content"], input=None, metadata=facts), {})
    if name in apart:
        assert "refusal checks it" in reason(found, State.NOT_APPLICABLE)
        assert chat.calls == []
        assert isinstance(
            metric.measure(case(metadata={"expected_refusal": "false"}), {}), Measured
        )
    else:
        assert isinstance(found, Measured)


def test_half_a_character_is_refused_before_it_is_sent():
    metric, chat = bound()
    assert "half a character" in reason(metric.texts(case(response="a\ud800")))
    metric.measure_batch([case(response="a\ud800")], {})
    assert chat.calls == []


def test_several_samples_are_asked_with_seeds_and_the_median_counts():
    metric, chat = bound(said=[verdict(5, "a"), verdict(2, "b"), verdict(4, "c")], samples=3)
    found = metric.measure(case(), {})
    assert [(r.seed, r.temperature) for r in chat.requests] == [(0, 1.0), (1, 1.0), (2, 1.0)]
    assert len(chat.calls) == 1
    assert (found.value, found.details["reason"]) == (4, "c")
    assert found.details["agreement"] == 0
    assert [vote["score"] for vote in found.details["votes"]] == [5, 2, 4]
    assert found.details["promptTokens"] == 300
    assert metric.spec.id == "llm_relevance:samples=3"
    assert load_metric(metric.spec.id).samples == 3


def test_samples_of_a_batch_stay_with_their_case():
    metric, chat = bound(said=[verdict(n) for n in (5, 5, 1, 2, 4, 4)], samples=2)
    found = metric.measure_batch([case("a"), case("b"), case("c")], {})
    assert [one.value for one in found] == [5, 1.5, 4]
    assert [len(call) for call in chat.calls] == [6]


def test_tokens_that_one_judge_does_not_report_are_unknown_of_all():
    chats = [FakeChat(verdict(), "a"), FakeChat(reply(verdict(), usage=ChatUsage(None, 7)), "b")]
    details = load_metric("llm_relevance").bound(chats).measure(case(), {}).details
    assert "promptTokens" not in details
    assert details["completionTokens"] == 27


def test_a_panel_is_the_median_of_its_judges_and_needs_them_all():
    said = [verdict(5), verdict(5), verdict(2)]
    chats = [FakeChat(one, f"m{at}") for at, one in enumerate(said)]
    metric = load_metric("llm_relevance").bound(chats)
    found = metric.measure(case(), {})
    assert found.value == 5
    assert found.details["agreement"] == pytest.approx(1 / 3, abs=1e-6)
    assert found.details["judge"] == "m0@test, m1@test, m2@test"
    assert load_metric("llm_relevance").bound(chats[1:]).measure(case(), {}).value == 3.5
    chats[2].says = failure()
    assert reason(metric.measure(case(), {})).startswith(
        "m2@test: the judge gave no reply: HTTP 429: too many requests"
    )


def test_a_panel_split_over_a_call_fails():
    chats = [FakeChat(verdict(True), "a"), FakeChat(verdict(False), "b")]
    metric = load_metric("llm_tool_call_accuracy").bound(chats)
    found = metric.measure(case(**AGENT), {})
    assert (found.value, found.details["rating"]) == (0.5, "Inconclusive")
    assert decide(metric, found).state is State.FAILED


def test_a_panel_of_none_or_of_one_model_twice_is_refused():
    metric = load_metric("llm_relevance")
    with pytest.raises(UsageError, match="at least one chat model"):
        metric.bound([])
    with pytest.raises(UsageError, match=r"on the panel twice; .*samples=3"):
        metric.bound([FakeChat("1"), FakeChat("2")])
    with pytest.raises(UsageError, match="expected a chat model, got str"):
        metric.bound(["openai:gpt-4o-mini"])


def test_the_version_moves_with_model_prompt_and_options():
    def version(name="llm_relevance", model="stub-1", **options):
        text = ":".join((name, *(f"{key}={value}" for key, value in options.items())))
        return load_metric(text).bound(FakeChat("4", model)).spec.version

    versions = [
        load_metric("llm_relevance").spec.version,
        version(),
        version("llm_coherence"),
        version(model="stub-2"),
        version(samples=2),
        version(temperature=0.5),
        version(max_tokens=100),
    ]
    assert len(set(versions)) == len(versions)
    assert version() == version()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("samples=0", "samples must be a whole number from 1 to 15"),
        ("samples=many", "samples must be a whole number"),
        ("temperature=3", "temperature must be auto or a number from 0 to 2"),
        ("temperature=true", "temperature must be auto or a number"),
        ("temperature=nan", "temperature must be auto or a number"),
        ("max_tokens=0", "max_tokens must be a whole number from 1"),
        ("model=gpt", "has no option 'model'; its options are samples, temperature, max_tokens"),
    ],
)
def test_a_wrong_option_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        load_metric(f"llm_relevance:{options}")
    with pytest.raises(UsageError, match="must be within 1 to 5"):
        load_metric("llm_relevance", 75)


def test_metrics_get_their_chat_model_once():
    metrics = [load_metric("token_f1"), load_metric("llm_fluency")]
    assert lacking_chat(metrics) == ("llm_fluency",)
    given = with_chat(metrics, FakeChat("4"))
    assert given[0] is metrics[0]
    assert lacking_chat(given) == ()
    assert with_chat(given, FakeChat("4", "other"))[1] is given[1]
