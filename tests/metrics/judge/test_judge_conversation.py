"""Conversations, calls and definitions of tools as they stand in cases."""

import json

import pytest
from judge_fakes import TALK, TOOLS, FakeChat, case, user_text, verdict

from closecall.metrics.judge.conversation import ConversationError, talk_of, tools_of
from closecall.metrics.registry import load_metric
from closecall.records import Case, Measured, Unmeasured

USER, ANSWER = TALK[1]["content"], TALK[-1]["content"]


def talk(messages=TALK, /, field="messages", **fields):
    metadata = {**fields.pop("metadata", {}), **({} if messages is None else {field: messages})}
    return talk_of(Case(id="1", metadata=metadata, **fields))


def tools(value, name="tools"):
    return tools_of(Case(id="1", metadata={name: value}))


def refused(read, *args, **options):
    with pytest.raises(ConversationError) as caught:
        read(*args, **options)
    return str(caught.value)


def test_a_conversation_ends_with_the_response():
    found = talk()
    assert (found.user, found.response) == (USER, ANSWER)
    assert [turn.role for turn in found.history] == ["system", "user"]
    assert [turn.role for turn in found.answer] == ["assistant", "tool", "assistant"]
    assert [(call.name, call.arguments) for call in found.calls] == [
        ("book", '{"people": 2, "hour": 19}')
    ]


@pytest.mark.parametrize(
    "messages",
    [TALK, tuple(TALK), json.dumps(TALK), {"messages": TALK}],
    ids=["list", "tuple", "cell", "object"],
)
@pytest.mark.parametrize("field", ["messages", "conversation", "Conversation"])
def test_it_is_found_however_it_is_written(messages, field):
    assert talk(messages, field=field).response == ANSWER
    nested = Case(id="1", metadata={"metadata": {field: messages}})
    assert talk_of(nested).response == ANSWER


def test_fields_of_the_case_and_the_conversation_go_together():
    assert talk(input=USER, response=ANSWER) == talk()
    assert talk(TALK[:2], response="Done.").response == "Done."
    before = talk(TALK, input="And a high chair?", response="It is noted.")
    assert (before.user, before.response) == ("And a high chair?", "It is noted.")
    assert [turn.content for turn in before.history[-2:]] == [ANSWER, "And a high chair?"]
    assert before.calls == ()
    alone = talk(None, input="Hello?", response="Hello.")
    assert (alone.user, alone.response, len(alone.history)) == ("Hello?", "Hello.", 1)


def test_an_input_from_the_middle_of_a_whole_conversation_adds_no_turn():
    longer = [*TALK, {"role": "user", "content": "Thanks."},
              {"role": "assistant", "content": "You are welcome."}]  # fmt: skip
    found = talk(longer, input=USER)
    assert (found.user, found.response) == ("Thanks.", "You are welcome.")


def test_another_response_than_the_last_turn_is_refused():
    assert "not the assistant's last turn" in refused(talk, TALK, input=USER, response="No.")


def test_calls_stand_in_a_field_of_their_own_or_in_the_turns():
    calls = [{"name": "find", "args": {"city": "Bonn"}}]
    found = talk(TALK, metadata={"tool_calls": calls})
    assert [(call.name, call.arguments) for call in found.calls] == [("find", '{"city": "Bonn"}')]
    one = talk(None, input="x", metadata={"toolCalls": json.dumps(calls[0])})
    assert one.calls[0].name == "find"


def test_parts_of_a_turn_are_joined_and_pictures_refused():
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    found = talk([{"role": "user", "content": parts}])
    assert found.user == "one\ntwo"
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]
    assert "messages[0].content[0] is no text" in refused(talk, image)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (7, "messages must be a list of turns, got int"),
        ("hello", "messages is a text that is no JSON"),
        (["hi"], "messages[0] must be an object, got a text"),
        ([{"content": "hi"}], "messages[0].role must be one of system"),
        ([{"role": "robot", "content": "hi"}], "messages[0].role must be one of"),
        ([{"role": "user", "content": 7}], "messages[0].content must be a text or a list"),
        ([{"role": "assistant", "tool_calls": {}}], "messages[0].tool_calls must be a list"),
        ([{"role": "assistant", "tool_calls": [{}]}], "messages[0].tool_calls[0] has no name"),
        ([{"role": "assistant", "tool_calls": ["x"]}], "tool_calls[0] must be an object"),
    ],
)
def test_what_cannot_be_read_names_its_place(messages, said):
    assert said in refused(talk, messages)


def test_two_conversations_are_refused():
    metadata = {"messages": TALK, "conversation": TALK}
    assert "has both messages and conversation" in refused(talk, None, metadata=metadata)


@pytest.mark.parametrize(
    "value",
    [
        TOOLS,
        json.dumps(TOOLS),
        TOOLS[0],
        {"tools": TOOLS},
        [{"type": "function", "function": TOOLS[0]}],
    ],
    ids=["list", "cell", "one", "object", "function"],
)
def test_definitions_of_tools_in_every_usual_form(value):
    for name in ("tools", "tool_definitions", "toolDefinitions"):
        found = tools(value, name)
        assert [tool.name for tool in found] == ["book"]
        assert json.loads(found[0].text) == TOOLS[0]


def test_names_of_tools_are_no_definitions():
    assert "tools[0] must be an object with a name" in refused(tools, ["book"])
    assert "tools[0] has no name" in refused(tools, [{}])


def judged(name, metadata, **fields):
    chat = FakeChat(verdict(True if name == "llm_tool_call_accuracy" else 4))
    one = case(**{"input": None, "response": None, "metadata": metadata, **fields})
    return load_metric(name).bound(chat).measure(one, {}), chat


@pytest.mark.parametrize(
    "name", ["llm_intent_resolution", "llm_task_adherence", "llm_tool_call_accuracy"]
)
def test_a_call_needs_the_definition_of_its_tool(name):
    found, chat = judged(name, {"messages": TALK})
    assert isinstance(found, Unmeasured)
    assert "tool_definitions is missing, and the response calls tools" in found.reason
    other = [{"name": "cancel"}]
    found, chat = judged(name, {"messages": TALK, "tools": other})
    assert found.reason == "the case's tool_definitions have no 'book', which is called"
    assert chat.calls == []
    found, chat = judged(name, {"messages": TALK, "tools": TOOLS})
    assert isinstance(found, Measured)
    text = user_text(chat.requests[0])
    assert 'book({"people": 2, "hour": 19})' in text
    assert "[tool] booked, number 8" in text
    assert "[system] You book tables." in text


def test_a_case_without_a_call_has_none_to_judge():
    found, _ = judged("llm_tool_call_accuracy", {"messages": TALK[:2], "tools": TOOLS})
    assert isinstance(found, Unmeasured)
    assert found.reason.startswith("the case's tool_calls is missing")


def test_a_call_alone_can_be_judged_without_a_response():
    found, chat = judged("llm_tool_call_accuracy", {"messages": TALK[:3], "tools": TOOLS})
    assert isinstance(found, Measured)
    assert "BEGIN response" not in user_text(chat.requests[0])


def test_what_a_conversation_cannot_say_is_not_measured_by_any_judge():
    found, _ = judged("llm_relevance", {"messages": "hello"}, input="a", response="b")
    assert found.reason == "the case's messages is a text that is no JSON"


def test_an_indirect_attack_may_come_through_a_tool():
    found, chat = judged("llm_safety_indirect_attack", {"messages": TALK}, context=())
    assert isinstance(found, Measured)
    assert "booked, number 8" in user_text(chat.requests[0])
