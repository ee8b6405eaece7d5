"""What closecall is told over HTTP, what it replays, and what it shows of it.

Replies of embedding and chat servers, bare and over a line; a judge's words; a cassette; reports
of hostile texts; requests to the label page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from closecall import evaluate, open_dataset
from closecall.chat.base import ChatFailure, ChatReply, ChatRequest, Message
from closecall.chat.remote import RemoteChat
from closecall.chat.replies import read_reply as read_chat
from closecall.chat.settings import chat_settings
from closecall.embedders.base import Vectors
from closecall.embedders.remote.embedder import RemoteEmbedder
from closecall.embedders.remote.providers import provider_named
from closecall.embedders.remote.replies import Reply, read_reply
from closecall.embedders.remote.retry import Clock, Patience
from closecall.embedders.remote.settings import read_settings
from closecall.errors import ClosecallError
from closecall.metrics.judge.reading import Reading
from closecall.metrics.judge.reading import read_reply as read_judge
from closecall.metrics.judge.scale import FIVE, SEVERITY, TRUTH
from closecall.records import Case, is_whole_text
from closecall.report.formats import FORMATS
from closecall.testing import HashEmbedder, ScriptedChat

from .. import helpers, label_page, reports
from ..inputs import Target
from ..raw_server import Asked, RawServer, whole

TEXTS = ("one", "two words", "and three of them")
DIMS = 4
_TAG = "openai-compatible"
_PATIENCE = Patience(attempts=2, base_s=0.0, deadline_s=10.0, timeout_s=10.0)


def _put(**files: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for name, data in files.items():
            stem, _, suffix = name.rpartition("_")
            (folder / f"{stem}.{suffix}").write_bytes(data)

    return make


def _bytes(path: Path) -> bytes:
    """Return what a file holds; of what is no file, nothing: a server sends no pipes."""
    return path.read_bytes() if path.is_file() else b""


# Vectors


def sound_vectors(texts: Sequence[str] = TEXTS, dims: int = DIMS) -> bytes:
    """Return a sound reply for these texts."""
    data = [
        {
            "object": "embedding",
            "index": at,
            "embedding": [(at + 1) / (n + 2) for n in range(dims)],
        }
        for at in range(len(texts))
    ]
    usage = {"prompt_tokens": 9, "total_tokens": 9}
    return json.dumps({"object": "list", "data": data, "model": "m", "usage": usage}).encode()


def _base64() -> bytes:
    import base64

    found = json.loads(sound_vectors())
    for one in found["data"]:
        row = np.array(one["embedding"], dtype="<f4")
        one["embedding"] = base64.b64encode(row.tobytes()).decode()
    return json.dumps(found).encode()


def _sound(vectors: Vectors, count: int) -> None:
    if vectors.shape[0] != count or vectors.dtype != np.float32:
        raise AssertionError(f"{vectors.dtype} of shape {vectors.shape} came out")
    if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
        raise AssertionError("a vector without a direction came out")


def bare_vectors(folder: Path) -> None:
    """Read a reply's body as the embedder does."""
    for dims in (DIMS, None):
        found = read_reply(_bytes(folder / "reply.json"), len(TEXTS), dims)
        if isinstance(found, Reply):
            rows = [row for row in found.rows if not isinstance(row, str)]
            if rows:
                _sound(np.array(rows), len(rows))
            if found.prompt_tokens is not None and found.prompt_tokens <= 0:
                raise AssertionError("tokens of no use were believed")


class _Line:
    """One server and what asks it, kept from one read to the next."""

    def __init__(self, *, chat: bool) -> None:
        self.said = b""
        self.server = RawServer(self._answer)
        name = _TAG.upper().replace("-", "_")
        environ = {
            f"{name}_ENDPOINT": self.server.url,
            f"{name}_MODEL": "m",
            f"{name}_EMBEDDING_MODEL": "m",
        }
        # What a reply says of waiting is not waited for.
        clock = Clock(draw=lambda: 0.0, sleep=self._sleep, now=lambda: self._now)
        self._now = 0.0
        provider = provider_named(_TAG)
        assert provider is not None
        self.chat = RemoteChat(
            chat_settings(_TAG, environ=environ), patience=_PATIENCE, clock=clock
        )
        self.embedder = None if chat else RemoteEmbedder(
            read_settings(provider, environ=environ), patience=_PATIENCE, clock=clock
        )  # fmt: skip
        if self.embedder is not None:
            self.embedder.load()

    def _sleep(self, seconds: float) -> None:
        self._now += seconds

    def _answer(self, asked: Asked) -> bytes:
        texts = tuple(asked.body.get("input", ()))
        if self.embedder is not None and asked.number == 1:
            return whole(sound_vectors(texts))
        return self.said


@cache
def _line(chat: bool) -> _Line:
    return _Line(chat=chat)


def vectors_over_the_line(folder: Path) -> None:
    """Have a server send the bytes, and embed with what came."""
    line = _line(False)
    line._now += 1000.0
    line.said = _bytes(folder / "reply.http")
    assert line.embedder is not None
    # Of this reply, not of those before it.
    line.embedder._asking._fits, line.embedder._kept = 32, {}
    vectors = line.embedder.embed(TEXTS)
    _sound(vectors, len(TEXTS))
    if vectors.shape[1] != DIMS:
        raise AssertionError("another width came out")


# Replies of chat models and judges


def sound_turn(content: str = "Thirty days.") -> bytes:
    """Return a sound reply of a chat model."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    message = {"role": "assistant", "content": content, "refusal": None, "tool_calls": [call]}
    return json.dumps(
        {
            "id": "chatcmpl-1", "model": "m", "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        }
    ).encode()  # fmt: skip


def _use_reply(reply: ChatReply | ChatFailure) -> None:
    """Put a reply where an answer goes, and show it."""
    said = reply.content if isinstance(reply, ChatReply) else reply.reason
    if not is_whole_text(said):
        raise AssertionError("half a character came out of a reply")
    if isinstance(reply, ChatReply):
        counted = [one for one in reply.usage if one is not None]
        if any(type(one) is not int or one < 0 for one in counted):
            raise AssertionError("a count that is none came out")
    _report([Case(id="c", input="How long?", response=said, references=("30 days",))], names=BRIEF)


def bare_chat(folder: Path) -> None:
    """Read a reply's body as the chat client does."""
    found = read_chat(_bytes(folder / "reply.json"))
    if isinstance(found, ChatReply):
        _use_reply(found)


def chat_over_the_line(folder: Path) -> None:
    """Have a server send the bytes as a chat model's reply."""
    line = _line(True)
    line._now += 1000.0
    line.said = _bytes(folder / "reply.http")
    request = ChatRequest(messages=(Message(role="user", content="How long?"),))
    (reply,) = line.chat.complete([request])
    _use_reply(reply)


JUDGED = '<S0>It says 30 days.</S0><S1>{"score": 2}</S1><S2>4</S2>'
JUDGED_JSON = '{"thoughts": "It says 30 days, {as} asked.", "reason": "Complete.", "score": 4}'


def judges_words(folder: Path) -> None:
    """Read a judge's words by every scale, and judge with them."""
    text = b"".join(_bytes(path) for path in sorted(folder.iterdir())).decode("utf-8", "replace")
    for scale in (FIVE, TRUTH, SEVERITY):
        for names in (("score",), ("relevance", "truth", "completeness")):
            found = read_judge(text, names, scale)
            if isinstance(found, Reading) and not all(
                math.isfinite(one) and scale.low <= one <= scale.high
                for one in found.scores.values()
            ):
                raise AssertionError(f"{found.scores} came out of a judge's words")
    from closecall.metrics.judge.base import with_chat
    from closecall.metrics.registry import load_metric

    metrics = with_chat([load_metric("llm_fluency")], ScriptedChat(lambda _: text))
    _report([Case(id="c", input="How long?", response="Thirty days.")], metrics, names=BRIEF)


# Recordings


def _cassette(folder: Path) -> None:
    helpers.use("cassettes")
    from recorded_things import record, request

    record(folder / "tape", TEXTS, [request("How long?"), request("How far?")])


def _made_to_fit(line: bytes) -> bytes:
    """Return a line with its check made anew, as somebody would who means harm."""
    import hashlib

    from closecall.cassettes.spelling import in_order, spelt

    try:
        row = json.loads(line)
        for name in ("request", "reply", "identity"):
            if isinstance(row.get(name), dict):
                row[name] = in_order(row[name])
        text = spelt({**{k: v for k, v in row.items() if k != "check"}, "check": ""})
        check = hashlib.sha256(text.encode()).hexdigest()[:16]
    except (ValueError, AttributeError, TypeError, RecursionError, OverflowError):
        return line
    return f'{text.removesuffix(chr(34) + "}")}{check}"}}'.encode()


def replay(folder: Path) -> None:
    """Replay vectors and replies, and verify the tape; as it is, and with checks that fit."""
    try:
        _replay(folder)
    except ClosecallError:
        for path in (folder / "tape").glob("*.jsonl"):
            if not path.is_file() or path.is_symlink():
                raise
            header, *lines = path.read_bytes().split(b"\n")
            path.write_bytes(b"\n".join([header, *map(_made_to_fit, lines)]))
        _replay(folder)


def _replay(folder: Path) -> None:
    helpers.use("cassettes")
    from recorded_things import CHAT, SPEC, Chat, Remote, request

    from closecall.cassettes import open_cassette
    from closecall.cassettes.verifying import verify

    del Remote, Chat
    with open_cassette(folder / "tape", "replay") as cassette:
        vectors = cassette.embedder(_never, SPEC).embed(list(TEXTS))
        _sound(vectors, len(TEXTS))
        for reply in cassette.chat(_never, CHAT).complete(
            [request("How long?"), request("How far?")]
        ):
            _use_reply(reply)
    verify(folder / "tape")


def _never() -> Any:
    raise AssertionError("a replay made what it replays")


# Reports


MARKUP = (
    "<script>alert(1)</script>", "</script><script>alert(1)//", '"><img src=x onerror=alert(1)>',
    "<!-- <script> --><!--", "]]><![CDATA[", "&lt;b&gt;&amp;&#60;i&#62;", "{{7*7}}{% raw %}",
    "</style>",
    "javascript:alert(1)", "\x1b]8;;http://192.0.2.1/\x07x\x1b]8;;\x07", "\x1b[2J\x1b[31m",
    "\x9b31m",
    '=HYPERLINK("http://192.0.2.1/")', "+1+cmd|' /C calc'!A0", "@SUM(1)", "-2+3", "\t=1", "\r=1",
    "\u202egnp.exe", "\u2066\u2069", "a\u2028b\u2029c", "\x00\x08\x0b\x0c\x0e\x1f\x7f",
    "\ufffe\uffff",
    "\ufeffzero\u200bwidth", "| a | b |\n|---|", "[x](javascript:alert(1))", "![x](http://192.0.2.1/)",
    "`` ` ``", "w" * 3000, "\U000e0041\U000e0042", "%s%n{0}", "$(id)`id`", "../../x", "con",
)  # fmt: skip


def hostile_rows(texts: tuple[str, ...] = MARKUP) -> list[dict[str, Any]]:
    """Return rows with each text in every field."""
    return [
        {
            "id": f"{text[:60]} #{at}", "input": text, "response": text, "references": [text],
            "context": [text, "plain"], "group": text[:200] or "g", "tags": [text[:200] or "t"],
            "label": ("accept", "reject")[at % 2],
        }
        for at, text in enumerate(texts)
    ]  # fmt: skip


def _rows(folder: Path) -> None:
    rows = hostile_rows()[::4]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "name.txt").write_text("</title><script>alert(1)</script>")


@cache
def _plain() -> reports._Page:
    """Return the page of a run with plain texts, and all that a page may have to say."""
    rows = [
        Case(id="same", response="a b", references=("a b",), label="accept", group="g",
             tags=("t",)),
        Case(id="far", input="q", response="c", references=("d",), context=("e",), label="reject"),
        Case(id="blank", references=("x",), response=" "),
        Case(id="none", response="x"),
    ]  # fmt: skip
    return reports.page_of(evaluate(rows, None, HashEmbedder(), cache=False, name="suite"))


BRIEF = ("table", "jsonl", "markdown", "junit")


def _report(
    cases: Any, metrics: Any = None, *, name: str = "suite", names: Sequence[str] = tuple(FORMATS)
) -> None:
    run = evaluate(cases, metrics, HashEmbedder(), cache=False, name=name)
    reports.check_all(run, _plain(), names)


def shown(folder: Path) -> None:
    """Measure rows of hostile texts, and write every report of them."""
    data = _bytes(folder / "name.txt").decode("utf-8", "replace")[:2000]
    name = "".join(c for c in data if c.isprintable()) or "suite"
    _report(open_dataset(folder / "cases.jsonl"), name=name)


# The label page


def asked(folder: Path) -> None:
    """Send every request of the folder to one page."""
    page = label_page.shared()
    for path in sorted(folder.iterdir()):
        page.tried(_bytes(path))


_TURN = whole(sound_turn())
TARGETS = (
    Target("vectors of a provider", _put(reply_json=sound_vectors()), bare_vectors, places=False),
    Target("vectors in base64", _put(reply_json=_base64()), bare_vectors, places=False),
    Target(
        "vectors over the line", _put(reply_http=whole(sound_vectors())), vectors_over_the_line,
        places=False,
    ),
    Target("reply of a chat model", _put(reply_json=sound_turn()), bare_chat, places=False),
    Target("chat over the line", _put(reply_http=_TURN), chat_over_the_line, places=False),
    Target("words of a judge", _put(words_txt=JUDGED.encode()), judges_words, places=False),
    Target(
        "judge in JSON", _put(words_json=JUDGED_JSON.encode()), judges_words, places=False
    ),
    Target("cassette", _cassette, replay),
    Target("reports of hostile texts", _rows, shown),
    Target(
        "requests to the label page",
        _put(
            press_http=label_page.PRESS + label_page.BODY, state_http=label_page.STATE,
            page_http=label_page.PAGE, asset_http=label_page.ASSET, link_http=label_page.LINK,
        ),
        asked,
        places=False,
    ),
)  # fmt: skip
