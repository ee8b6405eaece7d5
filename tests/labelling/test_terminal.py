"""The screen in a terminal, pressed key by key."""

import asyncio
import errno
import os

import pytest
from label_helpers import ACCEPT, REJECT, lines, row

textual = pytest.importorskip("textual")

from closecall.labelling.terminal import LabelApp  # noqa: E402

HOSTILE = (
    "[bold red]loud[/] [@click=app.leave]click[/] [link=http://x.example]y[/link] "
    "\x1b[31mred\x1b]0;title\x07 \u202eflip <b>&amp; $accent %s {x} [/]"
)


def press(session, *keys, size=(80, 24)):
    """Press keys, and return the app with what stood on the screen after the last."""

    async def run():
        app = LabelApp(session)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            app.seen = "\n".join(
                "".join(segment.text for segment in strip)
                for strip in app.screen._compositor.render_strips()
            )
        return app

    return asyncio.run(run())


def events(table):
    return [(one["event"], one["id"][-1]) for one in lines(table.path)[1:]]


def test_single_keys_label_undo_and_leave_open(table):
    made = table([row(at) for at in range(6)])
    press(made.sit(), "a", "r", "s", "u", "a", "x", "A", "enter", "q", "a")
    assert events(made) == [
        ("accept", "0"), ("reject", "1"), ("unsure", "2"), ("undo", "2"), ("accept", "2"),
    ]  # fmt: skip


def test_at_80_by_24_all_that_matters_is_on_the_screen(table):
    app = press(table([row(0), row(1)]).sit(), "a")
    for text in (
        "1 of 2 done: 1 accept, 0 rejects",
        "No promise yet",
        "When does tram 1 leave?",
        "It leaves at 1:15.",
        "Tram 1 leaves at 1:15.",
        "Is the response good enough?",
        "a accept  r reject  s unsure  u undo  n note  ? help  q quit",
    ):
        assert text in app.seen
    assert all(len(line) <= 80 for line in app.seen.splitlines())


def test_where_there_is_room_reference_and_response_stand_side_by_side(table):
    made = table([row(0)])

    def beside(size):
        seen = press(made.sit(), size=size).seen
        return any("It leaves" in line and "Tram 0 leaves" in line for line in seen.splitlines())

    assert beside((120, 30))
    assert not beside((80, 24))


def test_hostile_texts_are_shown_as_they_are(table):
    made = table([row(0, question=HOSTILE, response=HOSTILE, id="[red]id[/]"), row(1)])
    app = press(made.sit(), size=(200, 40))
    for text in (
        "[bold red]loud[/] [@click=app.leave]click[/] [link=http://x.example]y[/link]",
        "\\x1b[31mred\\x1b]0;title\\x07 \\u202eflip <b>&amp; $accent %s {x} [/]",
    ):
        assert app.seen.count(text) == 2
    assert "\x1b" not in app.seen
    assert "[red]id[/]: accepted." in press(made.sit(), "a", size=(200, 40)).seen


def test_a_text_of_a_million_characters_is_shown_in_two_steps(table):
    made = table([row(0, response="word " * 200_000 + "END")])
    session = made.sit()
    app = press(session, "end")
    assert "980,003 characters more: m shows all" in app.seen
    assert "END" in press(session, "m", "end").seen


def test_a_note_is_typed_and_its_letters_label_nothing(table):
    made = table([row(0), row(1)])
    app = press(made.sit(), "n", *"a r [b]q", "enter")
    assert events(made) == [("note", "0")]
    assert "Your note: a r [b]q" in app.seen
    app = press(made.sit(), "n", "x", "escape", "r")
    assert events(made) == [("note", "0"), ("reject", "0")]


def test_help_labels_nothing(table):
    made = table([row(0)])
    app = press(made.sit(), "question_mark", "a", "r", "u")
    assert "accept: the response is good enough" in app.seen
    assert "nothing to undo" not in app.seen
    assert events(made) == []
    assert "Tram 0 leaves" in press(made.sit(), "question_mark", "question_mark").seen


def test_the_end_is_said_and_can_be_undone(table):
    made = table([row(0)])
    app = press(made.sit(), "a", "a", "n")
    assert "Nothing is left to ask." in app.seen
    assert "Tram 0 leaves" in press(made.sit(), "u").seen
    assert events(made) == [("accept", "0"), ("undo", "0")]


def test_to_settle_both_labels_are_shown_and_unsure_is_none(table):
    made = table([row(0)])
    made.sit().label(ACCEPT)
    made.sit(annotator="ana", mode="second").label(REJECT)
    app = press(made.sit(mode="resolve"), "s")
    assert "settled by a or r" in app.seen
    app = press(made.sit(mode="resolve"))
    assert "first: accept" in app.seen
    assert "ana: reject" in app.seen
    press(made.sit(mode="resolve"), "r")
    assert events(made)[-1] == ("resolve_reject", "0")


def test_a_key_that_cannot_be_kept_ends_it(table, monkeypatch):
    made = table([row(0), row(1)])
    session = made.sit()
    real = os.write

    def full(descriptor, data):
        if descriptor == session.journal._descriptor:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    app = press(session, "a", "a")
    assert "No space left" in str(app.failed)
    assert events(made) == []
