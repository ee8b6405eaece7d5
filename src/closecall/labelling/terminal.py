"""The screen in a terminal: one case, one key. Needs textual."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Static

from closecall.errors import UsageError
from closecall.labelling.events import MOST_NOTE, Event
from closecall.labelling.journal import JournalError
from closecall.labelling.session import Session
from closecall.labelling.sheet import Part, asked_of, counted, heard_lines, parts_of
from closecall.records import Label
from closecall.report.words import visible

SHOWN = 20_000
"""Characters of a text that are laid out at once; m shows all."""

WIDE = 100
"""Columns from which on references and response stand side by side."""

KEYS = "a accept  r reject  s unsure  u undo  n note  ? help  q quit"
HELP = """\
a  accept: the response is good enough
r  reject: it is not
s  unsure: leave it open; it comes back when nothing new is left
u  undo the last key, and go back there
n  write a note on this case (Enter keeps it, Escape leaves it)
m  show all of a long text
Up, Down, PageUp, PageDown  scroll
?  close this help
q  quit; every key is kept already"""


class LabelApp(App[None]):
    """One case at a time; ``failed`` is why labelling had to stop, None where it did not."""

    TITLE = "closecall label"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #top { height: auto; max-height: 5; padding: 0 1; background: $panel; }
    #body { height: 1fr; padding: 0 1; }
    #sides { height: auto; }
    #sides > Vertical { width: 1fr; height: auto; }
    .narrow #sides { layout: vertical; }
    .narrow #sides > Vertical { width: 100%; }
    .text { width: 100%; height: auto; margin-bottom: 1; }
    #said { height: auto; padding: 0 1; }
    #note { display: none; }
    #keys { height: 1; padding: 0 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "accept", "accept"),
        Binding("r", "reject", "reject"),
        Binding("s", "unsure", "unsure"),
        Binding("u", "undo", "undo"),
        Binding("n", "note", "note"),
        Binding("m", "more", "more"),
        Binding("question_mark", "help", "help"),
        Binding("q", "leave", "quit"),
        Binding("escape", "escape", "back", show=False),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._all = False
        self._help = False
        self.failed: UsageError | None = None

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Static(id="top")
        yield VerticalScroll(id="body")
        yield Static(id="said")
        yield Input(id="note", max_length=MOST_NOTE, placeholder="note: Enter keeps it")
        yield Static(Text(KEYS, no_wrap=True, overflow="ellipsis"), id="keys")

    async def on_mount(self) -> None:
        """Show the first case."""
        self.query_one("#body").focus()
        self._fit()
        await self._show()

    def on_resize(self) -> None:
        """Put texts side by side where there is room."""
        self._fit()

    def _fit(self) -> None:
        self.set_class(self.size.width < WIDE, "narrow")

    async def action_accept(self) -> None:
        """Accept the case."""
        await self._label(Label.ACCEPT)

    async def action_reject(self) -> None:
        """Reject the case."""
        await self._label(Label.REJECT)

    async def action_unsure(self) -> None:
        """Leave the case open."""
        before = self._session.current
        if await self._kept(self._session.unsure) and before is not None:
            await self._show(f"{visible(before.case.id)}: left open, it comes back later.")

    async def action_undo(self) -> None:
        """Take the last key back."""
        if await self._kept(self._session.undo):
            await self._show("Undone.")
        elif self.failed is None and not self._help:
            self._say("There is nothing to undo.")

    async def action_note(self) -> None:
        """Open the line for a note."""
        item = self._session.current
        if item is None:
            return
        line = self.query_one("#note", Input)
        line.value = self._session.own_note(item)
        line.display = True
        line.focus()

    async def action_more(self) -> None:
        """Show all of each text."""
        self._all = True
        await self._show(keep=True)

    async def action_help(self) -> None:
        """Show the keys, or the case again."""
        self._help = not self._help
        await self._show()

    async def action_escape(self) -> None:
        """Leave the note line, or the help."""
        if self._help:
            await self.action_help()
        self._close_note()

    async def action_leave(self) -> None:
        """End the sitting."""
        self.exit()

    @on(Input.Submitted, "#note")
    async def _keep_note(self, event: Input.Submitted) -> None:
        text = event.value
        self._close_note()
        if await self._kept(lambda: self._session.note(text)):
            await self._show("Note kept." if text.strip() else "Note removed.")

    def _close_note(self) -> None:
        self.query_one("#note", Input).display = False
        self.query_one("#body").focus()

    async def _label(self, label: Label) -> None:
        before = self._session.current
        if await self._kept(lambda: self._session.label(label)) and before is not None:
            await self._show(f"{visible(before.case.id)}: {label}ed.")

    async def _kept(self, press: Callable[[], Event | None]) -> bool:
        """Do what a key says; return whether anything came of it. An unkept key ends all."""
        if self._help:
            return False
        try:
            return press() is not None
        except JournalError as error:
            self.failed = error
            self.exit()
        except UsageError as error:
            self._say(str(error))
        return False

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(Text(text))

    async def _show(self, said: str = "", *, keep: bool = False) -> None:
        """Draw the current case anew; every text of a case goes in as plain characters."""
        if not keep:
            self._all = False
        progress = self._session.progress()
        self.query_one("#top", Static).update(
            Text("\n".join([counted(progress), *progress.lines]))
        )
        body = self.query_one("#body", VerticalScroll)
        await body.remove_children()
        item = self._session.current
        if self._help:
            await body.mount(Static(Text(HELP), classes="text"))
        elif item is None:
            done = "Nothing is left to ask. q leaves; u goes back."
            await body.mount(Static(Text(done), classes="text"))
        else:
            parts = parts_of(item)
            plain = [part for part in parts if not part.side]
            split = next((at for at, part in enumerate(plain) if part.name != "Question"), None)
            head = plain if split is None else plain[:split]
            tail = [] if split is None else plain[split:]
            sides = [part for part in parts if part.side]
            await body.mount(
                *map(self._text, head),
                Horizontal(
                    Vertical(*map(self._text, sides[:-1])),
                    Vertical(self._text(sides[-1])),
                    id="sides",
                ),
                *map(self._text, tail),
            )
            lines = [*heard_lines(self._session, item)]
            note = self._session.own_note(item)
            lines += [f"Your note: {visible(note)}"] if note else []
            said = "\n".join([*lines, *([said] if said else []), asked_of(self._session)])
        body.scroll_home(animate=False)
        self._say(said)

    def _text(self, part: Part) -> Static:
        text = part.text if self._all else part.text[:SHOWN]
        shown = Text(f"{part.name}\n", style="bold")
        shown.append(Text(text, style="not bold"))
        left = len(part.text) - len(text)
        if left:
            shown.append(Text(f"\n... {left:,} characters more: m shows all", style="italic"))
        return Static(shown, classes="text")


def label_in_terminal(session: Session) -> None:
    """Run the screen until the person leaves.

    Raises
    ------
    JournalError
        A key could not be kept.
    """
    app = LabelApp(session)
    app.run()
    if app.failed is not None:
        raise app.failed
