"""A subject behind an address answers the cases of a run."""

import pytest
from fake_chat import FakeChat, error, only_default, turn

from closecall.chat.registry import endpoint_chat
from closecall.records import Case
from closecall.subjects.answered import Answering
from closecall.subjects.chat import ChatSubject

pytestmark = pytest.mark.loopback


@pytest.fixture
def server():
    with FakeChat("openai-compatible") as running:
        running.script = lambda received: (
            error("I cannot take this one.")
            if "refuse" in received.body["messages"][-1]["content"]
            else running.reply(
                received, turn(f"answer to {received.body['messages'][-1]['content']}")
            )
        )
        yield running


def test_cases_are_answered_the_refused_one_is_missing_and_the_facts_are_there(server):
    chat = endpoint_chat(server.url, "asked-model", in_flight=3)
    subject = ChatSubject(chat, system_prompt="Be brief.", max_tokens=20)
    cases = [Case(id=f"c{n}", input=f"q{n}") for n in range(40)]
    cases[7] = Case(id="bad", input="refuse me")
    cases[9] = Case(id="given", input="q9", response="my own")
    stream = Answering(cases, subject)
    found = {case.id: case.response for case in stream}
    expected = {f"c{n}": f"answer to q{n}" for n in range(40) if n not in {7, 9}}
    assert found == expected | {"bad": None, "given": "my own"}
    assert list(stream.missing) == ["bad"]
    assert "HTTP 400: I cannot take this one." in stream.missing["bad"].reason
    assert (stream.answers, len(server.requests)) == (38, 39)
    assert stream.usage.completion_tokens == 2 * 38
    assert subject.identity.facts["host"] == server.host
    assert {one.body["messages"][0]["content"] for one in server.requests} == {"Be brief."}
    assert all(one.body["seed"] == 0 for one in server.requests)
    chat.close()


def test_what_the_server_does_not_take_is_there_for_the_record(server):
    usual = server.script
    server.script = lambda received: (
        only_default("temperature") if "temperature" in received.body else usual(received)
    )
    chat = endpoint_chat(server.url, "asked-model")
    subject = ChatSubject(chat)
    assert subject.adjustments == {}
    subject.for_run(1).answer([Case(id="1", input="q")])
    assert subject.adjustments == {"temperature": "not sent"}
    assert server.bodies[-1] == {"seed": 1}
    chat.close()
