"""Answers of a command or a function, recorded and replayed."""

import pytest
from recorded_things import Assistant, lines, never

from closecall.cassettes import open_cassette
from closecall.cassettes.entries import read_line
from closecall.chat.base import ChatUsage
from closecall.errors import ConfigurationError, ReplayMissError, UsageError
from closecall.records import Case, Label, State, Unmeasured
from closecall.subjects.base import NO_INPUT, Answer, no_answer
from closecall.subjects.recorded import RecordedSubject

CASES = [
    Case(
        id="1", input="Where is\r\nmy parcel?", references=("At the depot.",), label=Label.ACCEPT
    ),
    Case(id="2", input="How heavy is it?", context=("It weighs two kilos.",)),
    Case(id="3", input="  "),
]


@pytest.fixture
def recorded(folder):
    with open_cassette(folder, "record") as cassette:
        RecordedSubject(cassette, Assistant, "./assistant --fast").answer(CASES)
    return folder


def test_a_replay_answers_as_the_subject_did_and_starts_nothing(recorded):
    with open_cassette(recorded, "replay") as cassette:
        subject = RecordedSubject(cassette, never, "./assistant --fast")
        assert subject.identity == Assistant().identity
        one, two, three = subject.answer(CASES)
    assert one == Answer(text="To Where is\r\nmy parcel?", latency_ms=0.0)
    assert two.text == "To How heavy is it?"
    assert three == NO_INPUT


def test_what_an_answer_is_held_to_is_not_recorded(recorded):
    data = (recorded / "default.jsonl").read_bytes()
    assert b"At the depot" not in data
    assert b"accept" not in data
    other = [Case(id="1", input="Where is\nmy parcel?", references=("Another.",))]
    with open_cassette(recorded, "replay") as cassette:
        (found,) = RecordedSubject(cassette, never).answer(other)
    assert isinstance(found, Answer)


def test_everything_in_an_answer_is_kept(folder):
    full = Answer(text="x", usage=ChatUsage(3, 4), latency_ms=9.5, finish="length")
    for mode in ("record", "record-missing"):
        with open_cassette(folder, mode) as cassette:
            RecordedSubject(cassette, lambda: Assistant(answer=lambda _: full)).answer(CASES[:1])
    with open_cassette(folder, "replay") as cassette:
        (found,) = RecordedSubject(cassette, never).answer(CASES[:1])
    assert (found.usage, found.finish, found.latency_ms) == (full.usage, "length", 0.0)
    (entry,) = (read_line(line) for line in lines(folder) if b'"subject:' in line[:20])
    assert entry.reply["latency_ms"] == 9.5


def test_a_case_that_is_missing_is_an_error_that_says_what_is_nearest(recorded):
    asked = [CASES[1], Case(id="2", input="How heavy is the parcel?", context=CASES[1].context)]
    with open_cassette(recorded, "replay") as cassette:
        found, missing = RecordedSubject(cassette, never).answer(asked)
        assert isinstance(found, Answer)
        assert missing.state is State.ERROR
        assert 'input: character 14: "How heavy is it?" recorded' in missing.reason
        assert cassette.missing().count == 1


def test_a_case_without_an_answer_is_not_recorded(folder):
    failed = no_answer("the command ended with exit code 1")
    with open_cassette(folder, "record") as cassette:
        subject = RecordedSubject(
            cassette,
            lambda: Assistant(answer=lambda c: failed if c.id == "1" else Answer(text="x")),
        )
        one, two, _ = subject.answer(CASES)
    assert (one, two.text) == (failed, "x")
    with open_cassette(folder, "replay") as cassette:
        one, two, _ = RecordedSubject(cassette, never).answer(CASES)
    assert isinstance(one, Unmeasured)
    assert two.text == "x"


def test_record_missing_asks_only_what_is_missing(recorded):
    assistant = Assistant()
    more = [*CASES, Case(id="4", input="When?")]
    with open_cassette(recorded, "record-missing") as cassette:
        RecordedSubject(cassette, lambda: assistant).answer(more)
    assert [case.id for case in assistant.asked] == ["4"]


def test_another_subject_than_was_recorded_is_refused(recorded):
    with open_cassette(recorded, "record-missing") as cassette:
        subject = RecordedSubject(cassette, lambda: Assistant("another"))
        with pytest.raises(ConfigurationError, match=r"facts\.command: character 2"):
            subject.answer([Case(id="5", input="Who?")])


def test_a_subject_nothing_is_recorded_of(folder, recorded):
    with (
        open_cassette(recorded, "replay") as cassette,
        pytest.raises(ReplayMissError, match=r"no answers of \./other"),
    ):
        RecordedSubject(cassette, never, "./other")
    with open_cassette(recorded, "record") as cassette:
        RecordedSubject(cassette, lambda: Assistant("second")).answer(CASES)
    with (
        open_cassette(recorded, "replay") as cassette,
        pytest.raises(UsageError, match="2 recorded subjects"),
    ):
        RecordedSubject(cassette, never)
