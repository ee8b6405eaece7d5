"""A proxy on 127.0.0.1 that loses connections where it is told to."""

import re
import socket
import struct
import threading

REQUEST = re.compile(rb"(GET|PUT|HEAD|POST|DELETE) (\S+) HTTP/1\.1\r\n")


class Lossy:
    """Passes bytes on, and breaks off by ``rule``.

    ``rule(number, method, path)`` is asked at each request (numbers from 1) and returns None, or
    ``("before", 0)``: the request never arrives; ``("upload", n)``: it breaks off after n of its
    bytes; ``("answer", n)``: it arrives, and its answer breaks off after n bytes.
    """

    def __init__(self, host, port):
        self._target = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.rule = lambda _number, _method, _path: None
        self.requests, self.lost = [], 0
        self._guard = threading.Lock()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.close()

    def lose(self, method, part, what, size=0, times=1):
        """Lose the first ``times`` requests of a method whose path holds ``part``."""
        left = [times]

        def rule(_number, is_method, path):
            if left[0] and is_method == method and part in path:
                left[0] -= 1
                return what, size
            return None

        self.rule = rule

    def lose_all(self):
        """Let nothing through any more."""
        self.rule = lambda _number, _method, _path: ("before", 0)

    def heal(self):
        self.rule = lambda _number, _method, _path: None

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=_Connection(self, client).run, daemon=True).start()

    def asked(self, method, path):
        with self._guard:
            self.requests.append((method, path))
            found = self.rule(len(self.requests), method, path)
            self.lost += found is not None
            return found


class _Connection:
    def __init__(self, proxy, client):
        self.proxy, self.client = proxy, client
        self.server = socket.create_connection(proxy._target)
        self.upload = self.answer = None  # bytes that still pass

    def run(self):
        threading.Thread(target=self._answers, daemon=True).start()
        try:
            while data := self.client.recv(65536):
                found = REQUEST.match(data)
                if found:
                    fate = self.proxy.asked(found[1].decode(), found[2].decode())
                    what, size = fate or ("", 0)
                    if what == "before":
                        break
                    self.upload = size if what == "upload" else None
                    self.answer = size if what == "answer" else None
                if self.upload is not None:
                    self.server.sendall(data[: self.upload])
                    self.upload -= min(self.upload, len(data))
                    if not self.upload:
                        break
                else:
                    self.server.sendall(data)
        except OSError:
            pass
        self._break_off()

    def _answers(self):
        try:
            while data := self.server.recv(65536):
                if self.answer is None:
                    self.client.sendall(data)
                    continue
                self.client.sendall(data[: self.answer])
                self.answer -= min(self.answer, len(data))
                if not self.answer:
                    break
        except OSError:
            pass
        self._break_off()

    def _break_off(self):
        for one in (self.client, self.server):
            try:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
