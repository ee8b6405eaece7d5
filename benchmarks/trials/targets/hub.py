"""Replies of a hub of models, over the wire: head and body may hold anything."""

from __future__ import annotations

import hashlib
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trials.helpers import require
from trials.inputs import Target

from .models import own_store

REPO = "acme/tiny"

_REPLIES = {
    "listing.http": b"/api/",
    "config.http": b"config.json",
    "weights.http": b"safetensors",
}


def _make_hub(folder: Path) -> None:
    """Replies of a hub, whole, as they come over the wire."""
    config, weights = b'{"model_type": "other"}', b"\0" * 300
    blob = hashlib.sha1(b"blob %d\0" % len(config) + config, usedforsecurity=False).hexdigest()
    listing = {
        "sha": "ab" * 20,
        "siblings": [
            {"rfilename": "config.json", "size": len(config), "blobId": blob},
            {
                "rfilename": "model.safetensors", "size": len(weights), "blobId": "0" * 40,
                "lfs": {"sha256": hashlib.sha256(weights).hexdigest(), "size": len(weights)},
            },
        ],
        "cardData": {"license": "mit"},
    }  # fmt: skip
    for name, body in (
        ("listing.http", json.dumps(listing).encode()),
        ("config.http", config),
        ("weights.http", weights),
    ):
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        (folder / name).write_bytes(head.encode() + body)


class _Raw(socketserver.StreamRequestHandler):
    """Sends a file's bytes as they are, whatever they are."""

    folder = Path()

    def handle(self) -> None:
        first = self.rfile.readline(65536)
        while self.rfile.readline(65536).strip():
            pass
        for name, sign in _REPLIES.items():
            path = self.folder / name
            if sign in first:
                with suppress(OSError):
                    self.wfile.write(path.read_bytes() if path.is_file() else b"")


@contextmanager
def _hub(folder: Path) -> Iterator[str]:
    handler = type("Handler", (_Raw,), {"folder": folder})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.002,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def _read_hub(folder: Path) -> None:
    from closecall.models.hub import ENDPOINT_VARIABLE, Hub
    from closecall.models.keeping import Wanted
    from closecall.models.patience import Patience
    from closecall.models.pull import pull

    with own_store() as place, _hub(folder) as endpoint:
        hub = Hub("pulling", timeout=10.0, environ={ENDPOINT_VARIABLE: endpoint})
        patience = Patience(tries=1, sleep=lambda _: None)
        pull(Wanted(name=REPO), hub=hub, patience=patience)
        require({path.name for path in place.iterdir()} <= {"tiny", ".pulling"})


TARGETS: tuple[Target, ...] = (Target("replies of a hub", _make_hub, _read_hub, places=False),)
