"""The runs of a repeated case are recorded apart; equal requests of one recording are asked once."""

from recorded_things import Assistant, Chat, lines, never

from closecall.cassettes import open_cassette
from closecall.chat.base import ChatRequest, Message
from closecall.records import Case, State
from closecall.subjects.base import Answer
from closecall.subjects.recorded import RecordedSubject

CASES = [Case(id="1", input="Where is it?"), Case(id="2", input="How heavy is it?")]


class Counting(Assistant):
    """Says how often it was asked."""

    def __init__(self):
        super().__init__()
        self.times = 0

    def answer(self, cases):
        found = []
        for _ in cases:
            self.times += 1
            found.append(Answer(text=f"answer {self.times}"))
        return found


def texts(answers):
    return [one.text for one in answers]


def test_each_run_has_its_own_recording(folder):
    made = []

    def make():
        made.append(Counting())
        return made[-1]

    with open_cassette(folder, "record") as cassette:
        subject = RecordedSubject(cassette, make, "./assistant")
        live = [texts(subject.for_run(number).answer(CASES)) for number in range(3)]
    assert live == [["answer 1", "answer 2"], ["answer 3", "answer 4"], ["answer 5", "answer 6"]]
    assert len(made) == 1
    with open_cassette(folder, "replay") as cassette:
        subject = RecordedSubject(cassette, never, "./assistant")
        assert [texts(subject.for_run(number).answer(CASES)) for number in range(3)] == live
        # The first run's are those of a run that is not repeated.
        assert texts(subject.answer(CASES)) == live[0]
        (lost, _) = subject.for_run(3).answer(CASES)
        assert lost.state is State.ERROR
        assert "run" in lost.reason


def test_a_recording_from_before_is_the_first_run(folder):
    with open_cassette(folder, "record") as cassette:
        RecordedSubject(cassette, Counting, "./assistant").answer(CASES)
    before = lines(folder)
    with open_cassette(folder, "record-missing") as cassette:
        subject = RecordedSubject(cassette, Counting, "./assistant")
        assert texts(subject.for_run(0).answer(CASES)) == ["answer 1", "answer 2"]
        subject.for_run(1).answer(CASES)
    after = lines(folder)
    assert set(before) < set(after)
    assert len(after) == len(before) + 2


def test_a_second_reply_never_takes_the_place_of_the_first_one_recorded(folder):
    said = iter(["first", "second"])
    asked = ChatRequest(messages=(Message(role="user", content="What now?"),))
    model = Chat(reply=lambda request: next(said))
    with open_cassette(folder, "record") as cassette:
        chat = cassette.chat(lambda: model)
        live = [chat.complete([asked])[0].content for _ in range(2)]
    assert live == ["first", "first"]
    assert len(model.asked) == 1
    with open_cassette(folder, "replay") as cassette:
        assert cassette.chat(never).complete([asked])[0].content == "first"
    with open_cassette(folder, "record") as cassette:
        assert cassette.chat(lambda: model).complete([asked])[0].content == "second"
