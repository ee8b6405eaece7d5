"""Lines made to fit their keys and checks, of things that are no recordings."""

import numpy as np
import pytest

from closecall.cassettes import open_cassette
from closecall.cassettes.entries import (
    Answered,
    Entry,
    identified,
    key_of,
    write_header,
    write_line,
)
from closecall.cassettes.maintenance import diff, prune, stats
from closecall.cassettes.subject import RecordedAnswers
from closecall.cassettes.vectors import write_vector
from closecall.cassettes.verifying import verify
from closecall.errors import CassetteError, ConfigurationError, ReplayMissError

REQUEST = {"messages": [{"role": "user", "content": "Where is it?"}]}
REPLY = {"content": "On its way."}


def vector_of(tokens):
    """Return the parts of a line that holds a text's vector and these counts."""
    reply = {"vector": write_vector(np.float32([1, 0]), "f32"), "tokens": tokens}
    return {"kind": "embedding", "request": {"role": "text", "text": "a"}, "reply": reply}


@pytest.fixture
def tape(folder):
    """Write a cassette of one line and who replied."""

    def write(kind="chat", identity=None, request=REQUEST, reply=REPLY):
        who = identified(kind, "x", identity or {"model": "m"}, {"x"})
        entry = Entry(
            key=key_of(kind, who.digest, request),
            identity=who.digest,
            name="x",
            request=request,
            reply=reply,
            recorded="2031-01-31T09:00:00Z",
        )
        every = [write_header("default"), *sorted((write_line(who), write_line(entry)))]
        folder.mkdir(exist_ok=True)
        (folder / "default.jsonl").write_text("".join(f"{line}\n" for line in every))
        return folder

    return write


def test_a_sound_line_is_sound(tape):
    place = tape(reply=REPLY | {"latency_ms": 3.0, "usage": [5, None]})
    assert verify(place).problems == ()
    assert verify(tape(**vector_of({"seen": 3, "total": 3}))).problems == ()
    place = tape(reply=REPLY | {"latency_ms": 3.0, "usage": [5, None]})
    assert stats(place).held[0].latency_ms == 3.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"request": {"messages": 5}}, "request: messages"),
        ({"request": {"messages": ["x"]}}, "request: messages"),
        ({"request": {"messages": {}}}, "request: messages"),
        ({"reply": REPLY | {"latency_ms": -3.0}}, "latency_ms"),
        ({"reply": REPLY | {"usage": [-5, 1]}}, "usage"),
        ({"reply": REPLY | {"usage": [1, 1 << 60]}}, "usage"),
        (vector_of({"seen": -1, "total": 3}), "tokens are whole numbers"),
        (vector_of({"seen": 1, "total": 1 << 60}), "tokens are whole numbers"),
        ({"kind": "subject", "reply": {"answer": "a", "latency_ms": -3.0}}, "latency_ms"),
    ],
)
def test_a_line_that_is_no_recording_is_refused(tape, changes, said):
    place = tape(**changes)
    (problem,) = verify(place).problems
    assert "default.jsonl:" in problem
    assert said in problem
    for look in (stats, lambda folder: list(diff(folder, folder))):
        with pytest.raises(CassetteError, match=said):
            look(place)


def test_an_identity_of_lists_goes_by_no_name(tape):
    place = tape(identity={"model": ["l"], "kind": ["k"], "provider": {"a": 1}})
    assert prune(place, model="zzz").entries == 0
    with open_cassette(place, "replay") as cassette, pytest.raises(ReplayMissError):
        cassette.chat(lambda: None, "zzz")
    assert prune(place, model="x").entries == 1


def test_what_could_not_be_read_back_is_not_recorded(folder):
    with open_cassette(folder, "record") as cassette:
        answers = RecordedAnswers(cassette, {"name": "a"}, "a")
        with pytest.raises(
            ConfigurationError, match=r"cannot hold a recording: reply: .*latency_ms"
        ):
            answers.get([{"input": "q"}], lambda at: [Answered(answer="x", latency_ms=-1.0)])
    assert verify(folder).problems == ()
