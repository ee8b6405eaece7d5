"""A desk that answers and a hub with a small model, on this machine."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from .making import row

TESTS = Path(__file__).resolve().parent.parent.parent / "tests"


class Served(NamedTuple):
    """Where the servers of this machine are."""

    desk: str
    hub: str


@contextlib.contextmanager
def running(work: Path) -> Iterator[Served]:
    """Run a desk that answers, and a hub with a small model."""
    sys.path.insert(0, str(TESTS / "models"))
    import fake_hub  # type: ignore[import-not-found]
    import tiny_bert

    desk = ThreadingHTTPServer(("127.0.0.1", 0), _Desk)
    desk.daemon_threads = True
    desk.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=desk.serve_forever, args=(0.01,), daemon=True).start()
    hub = fake_hub.Hub()
    source = work / "published"
    tiny_bert.write_folder(source)
    hub.add("acme/tiny", source)
    try:
        yield Served(f"http://127.0.0.1:{desk.server_port}/v1", hub.endpoint)
    finally:
        desk.shutdown()
        desk.server_close()
        hub.close()


class _Desk(BaseHTTPRequestHandler):
    """Answers a chat request from its own words, the same each time."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # a reply in one piece, which no delayed acknowledgement holds up

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body: Mapping[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = str(body["messages"][-1]["content"])
        number = re.search(r"pole (\d+)", asked)
        said = row(int(number[1]) if number else 0)["response"]
        reply = json.dumps({
            "id": "one", "object": "chat.completion", "created": 1, "model": "desk",
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
        }).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)
