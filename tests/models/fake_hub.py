"""A hub on this machine: its interface on one port, the storage of large files on another."""

import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

LARGE = (".safetensors", ".onnx", ".bin", ".msgpack")


class Hub:
    """Serves repositories; ``faults`` maps a path (or ``listing``) to functions that go first."""

    def __init__(self, tls=None):
        self.tls = tls
        self.repos = {}
        self.asked = []
        self.faults = {}
        self.gated = {}
        self.api = _serve(self, _Api)
        self.storage = _serve(self, _Storage)

    @property
    def _scheme(self):
        return "http" if self.tls is None else "https"

    @property
    def endpoint(self):
        return f"{self._scheme}://127.0.0.1:{self.api.server_port}"

    @property
    def storage_address(self):
        return f"{self._scheme}://127.0.0.1:{self.storage.server_port}"

    def add(self, repo, folder=None, *, files=None, branch="main", licence="mit"):
        """Publish a folder, or files by path; return the commit."""
        held = dict(files or {})
        if folder is not None:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    held[path.relative_to(folder).as_posix()] = path.read_bytes()
        commit = hashlib.sha1(
            repr(sorted(held.items())).encode(), usedforsecurity=False
        ).hexdigest()
        self.repos.setdefault(repo, {}).update({branch: commit, commit: held})
        self.licence = licence
        return commit

    def fault(self, path, *faults):
        self.faults.setdefault(path, []).extend(faults)

    def times(self, path):
        """How often a file's bytes, or the listing, were asked for."""
        return sum(one[0] == path for one in self.asked)

    def close(self):
        for server in (self.api, self.storage):
            server.shutdown()
            server.server_close()

    def listing(self, repo, commit):
        entries = []
        for path, data in self.repos[repo][commit].items():
            entry = {"rfilename": path, "size": len(data), "blobId": git_blob(data)}
            if path.endswith(LARGE):
                digest = hashlib.sha256(data).hexdigest()
                entry["blobId"] = "0" * 40  # of the stand-in that git keeps
                entry["lfs"] = {"sha256": digest, "size": len(data), "pointerSize": 134}
            entries.append(entry)
        return {"sha": commit, "siblings": entries, "cardData": {"license": self.licence}}


def git_blob(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _serve(hub, handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), {"hub": hub}))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients that do not trust it hang up
    if hub.tls is not None:
        server.socket = hub.tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub = None

    def log_message(self, *_):
        pass

    def handle(self):
        with contextlib.suppress(ConnectionError):  # a client that went away
            super().handle()

    def note(self, what):
        self.hub.asked.append((what, self.headers.get("Range"), self.headers.get("Authorization")))
        faults = self.hub.faults.get(what)
        if faults:
            faults.pop(0)(self)
            return True
        return False

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def give(self, data):
        start = 0
        asked = self.headers.get("Range")
        if asked:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(data):
                self.answer(416)
                return
            where = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self.answer(206, data[start:], Content_Range=where)
            return
        self.answer(200, data)


class _Api(_Handler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        parts = [unquote(part) for part in path.split("/")[1:]]
        if parts[0] == "api":
            if self.note("listing"):
                return
            repo, revision = "/".join(parts[2:4]), parts[5]
            held = self.hub.repos.get(repo, {})
            if repo not in self.hub.repos:
                self.answer(
                    401, b'{"error":"no"}', X_Error_Message="Invalid username or password."
                )
            elif revision not in held:
                self.answer(404, b"{}", X_Error_Code="RevisionNotFound")
            else:
                commit = held[revision] if isinstance(held[revision], str) else revision
                body = json.dumps(self.hub.listing(repo, commit)).encode()
                self.answer(200, body, Content_Type="application/json")
            assert query == "blobs=true"
            return
        repo, commit, name = "/".join(parts[:2]), parts[3], "/".join(parts[4:])
        if self.hub.gated.get(repo) not in (None, self.headers.get("Authorization")):
            self.answer(403, X_Error_Code="GatedRepo", X_Error_Message="Access is restricted.")
        elif name.endswith(LARGE):
            target = f"{self.hub.storage_address}/{repo}/{commit}/{name}?signature=abc"
            self.answer(302, Location=target)
        elif not self.note(name):
            self.give(self.hub.repos[repo][commit][name])


class _Storage(_Handler):
    def do_GET(self):
        parts = [unquote(part) for part in self.path.partition("?")[0].split("/")[1:]]
        repo, commit, name = "/".join(parts[:2]), parts[2], "/".join(parts[3:])
        if not self.note(name):
            self.give(self.hub.repos[repo][commit][name])
