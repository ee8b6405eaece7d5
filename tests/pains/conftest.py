"""The command line as a user types it, and servers on this machine that answer as one scripts."""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "loopback"))
sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))  # for labelled_rows

from fake_chat import FakeChat, turn
from fake_provider import FakeProvider, entry
from full_marks import FULL

from closecall.chat.remote import RemoteChat
from closecall.cli import run
from closecall.embedders.remote.retry import Patience


class Told(NamedTuple):
    """What a command said, with its exit code; ``words`` is the output without its layout."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out, parse_constant=pytest.fail)

    @property
    def words(self):
        return " ".join(self.out.split())


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(here, capsys):
    """Run one command in this process."""

    def call(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Told(code, *capsys.readouterr())

    return call


@pytest.fixture
def write(here):
    """Write cases as JSONL, named ``cases.jsonl``."""

    def written(*cases, name="cases.jsonl"):
        lines = [json.dumps(case, ensure_ascii=False) for case in cases]
        (here / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return name

    return written


@pytest.fixture
def judge(monkeypatch):
    """A chat server that gives full marks; ``says`` scripts it otherwise."""
    with FakeChat("openai-compatible") as server:
        _lead_to(server, monkeypatch)
        server.script = lambda received: server.reply(received, turn(FULL))
        yield server


@pytest.fixture
def embedding(monkeypatch):
    """A server of embeddings; ``vectors`` of it says what a text is, as numbers."""
    with FakeProvider("openai-compatible") as server:
        _lead_to(server, monkeypatch)
        server.vectors = lambda text: [float(len(text)), 1.0]

        def script(received):
            encoding = received.body.get("encoding_format", "float")
            rows = [server.vectors(text) for text in received.texts]
            data = [entry(at, row, encoding) for at, row in enumerate(rows)]
            return server.reply(received, data=data)

        server.script = script
        yield server


@pytest.fixture
def impatient(monkeypatch):
    """Ask a chat server once, so that no test waits between tries; ``impatient(s)``: so long."""

    def wait(seconds):
        once = Patience(attempts=1, timeout_s=seconds, deadline_s=60.0)
        monkeypatch.setitem(RemoteChat.__init__.__kwdefaults__, "patience", once)

    wait(60.0)  # a busy machine may take seconds for any answer
    return wait


def _lead_to(server, monkeypatch):
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
