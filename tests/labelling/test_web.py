"""The page's server, over HTTP on the loopback: who is let in, and what is kept."""

import contextlib
import errno
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest
from label_helpers import ACCEPT, REJECT, lines, row

from closecall.errors import UsageError
from closecall.labelling.journal import Journal
from closecall.labelling.web import serving
from closecall.labelling.web.desk import Desk
from closecall.labelling.web.serving import MOST_BODY, Server

pytestmark = pytest.mark.loopback

HOSTILE = "<script>alert('x')</script> \x1b[31m \u202e"
PATIENCE = 60
"""Seconds to wait at most for what comes by itself."""


class Client:
    """A browser of the plainest kind: it keeps one cookie and says where it comes from."""

    def __init__(self, link):
        self.link = urlsplit(link)
        self.host = self.link.netloc
        self.cookie = self.base = self.form = None

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.link.port, timeout=PATIENCE)
        wanted = {"Host": self.host, **({"Cookie": self.cookie} if self.cookie else {})}
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        data = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        if (
            body is not None
            and "Content-Length" not in wanted
            and "Transfer-Encoding" not in wanted
        ):
            wanted["Content-Length"] = str(len(data))
        for name, value in wanted.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(data or None)
        reply = connection.getresponse()
        reply.text = reply.read().decode()
        connection.close()
        return reply

    def enter(self):
        reply = self.ask("GET", f"{self.link.path}?{self.link.query}")
        assert reply.status == 303
        self.cookie = reply.headers["Set-Cookie"].partition(";")[0]
        self.base = reply.headers["Location"]
        self.look()
        return reply

    def look(self):
        state = json.loads(self.ask("GET", f"{self.base}state").text)
        self.form = state["form"]
        return state

    def post(self, body, path="press", **headers):
        given = {
            "Origin": f"http://{self.host}",
            "Content-Type": "application/json",
            "X-Closecall-Form": self.form,
        }
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", f"{self.base}{path}", body, **given)

    def press(self, key, step=None, **more):
        step = self.look()["step"] if step is None else step
        return self.post({"key": key, "step": step, **more})


@pytest.fixture
def serve():
    made = []

    def call(session, **options):
        server = Server(Desk(session), 0, **options)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        made.append((server, thread))
        return Client(server.gate.link)

    yield call
    for server, thread in made:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def page(table, serve):
    made = table([row(0, response=HOSTILE), *(row(at) for at in range(1, 6))])
    client = serve(made.sit())
    client.enter()
    client.table = made
    return client


def events(page):
    return [(one["event"], one["id"][-1]) for one in lines(page.table.path)[1:]]


def test_the_link_works_once(table, serve):
    client = serve(table([row(0)]).sit())
    reply = client.enter()
    cookie = reply.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert f"Path={client.base}" in cookie
    other = Client(client.link.geturl())
    again = other.ask("GET", f"/?{other.link.query}")
    assert again.status == 403
    assert "was used already" in again.text
    assert again.headers["Set-Cookie"] is None
    assert "Is the response good enough?" in client.look()["case"]["question"]


@pytest.mark.parametrize("token", ["", "x", "é" * 43, "x" * 5000])
def test_a_wrong_token_opens_nothing_and_leaves_the_link_alone(table, serve, token):
    from urllib.parse import quote

    client = serve(table([row(0)]).sit())
    assert client.ask("GET", f"/?token={quote(token)}").status == 403
    assert client.ask("GET", "/").status == 403
    client.enter()


def test_without_the_cookie_nothing_is_told(page):
    kept, page.cookie = page.cookie, None
    for path in ("", "state", "label.js", "label.css"):
        reply = page.ask("GET", page.base + path)
        assert reply.status == 403
        assert "tram" not in reply.text
    page.cookie = kept.partition("=")[0] + "=guessed"
    assert page.ask("GET", page.base + "state").status == 403
    assert page.post({"key": "accept", "step": 1}).status == 403
    assert events(page) == []


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "evil.example:{port}", "[::1]:{port}", None]
)
def test_another_name_for_this_machine_is_refused(page, host):
    page.host, own = host and host.format(port=page.link.port), page.host
    assert page.ask("GET", page.base + "state").status == 421
    assert page.post({"key": "accept", "step": 1}, Origin=f"http://{own}").status == 421
    assert events(page) == []


def test_localhost_is_a_name_for_it(page):
    page.host = f"localhost:{page.link.port}"
    assert page.press("accept").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": "http://127.0.0.1:1"},
        {"X_Closecall_Form": "guessed"},
        {"X_Closecall_Form": None},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_another_site_presses_no_key(page, headers):
    assert page.post({"key": "accept", "step": 1}, **headers).status == 403
    assert page.post({}, "quit", **headers).status == 403
    assert events(page) == []
    assert page.press("accept").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/..", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "{base}../serving.py",
        "{base}..%2fserving.py", "{base}label.html", "{base}assets/", "{base}//etc/passwd",
        "{base}\\..\\x", "/favicon.ico", "/label.js", "{base}state/", "http://127.0.0.1/etc",
    ],
)  # fmt: skip
def test_there_is_nothing_but_the_routes(page, path):
    reply = page.ask("GET", path.format(base=page.base))
    assert reply.status == 404
    assert reply.text == "There is nothing here.\n"
    assert page.post({}, "press/../state").status == 404


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_not_answered(page, method):
    assert page.ask(method, page.base).status == 501


def test_the_page_and_all_replies_forbid_what_they_do_not_need(page):
    html = page.ask("GET", page.base)
    assert html.status == 200
    for reply in (html, page.ask("GET", "/nothing"), page.press("accept"), page.ask("PUT", "/")):
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        assert reply.headers["Cache-Control"] == "no-store"
        assert "Python" not in str(reply.headers)
    assert not re.search(r"\son\w+\s*=|style\s*=|<script(?! src)", html.text)
    script = page.ask("GET", page.base + "label.js").text
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert way not in script
    # Nothing of a case is in the page itself.
    assert "alert(" not in html.text + script


def test_keys_label_undo_note_and_leave_open(page):
    first = page.look()
    assert first["case"]["parts"][2]["text"] == ("<script>alert('x')</script> \\x1b[31m \\u202e")
    assert json.loads(page.press("accept").text)["message"] == "case-000: accepted."
    page.press("reject")
    page.press("unsure")
    page.press("undo")
    state = json.loads(page.press("note", note="<b>why</b>").text)
    assert state["case"]["note"] == "<b>why</b>"
    assert (state["done"], state["total"]) == (2, 6)
    assert "No promise yet" in state["lines"][0]
    assert events(page) == [
        ("accept", "0"), ("reject", "1"), ("unsure", "2"), ("undo", "2"), ("note", "2"),
    ]  # fmt: skip


def test_of_two_tabs_the_one_behind_labels_nothing(page):
    step = page.look()["step"]
    assert page.press("accept", step).status == 200
    late = page.press("reject", step)
    assert late.status == 409
    state = json.loads(late.text)
    assert "another tab went on" in state["message"]
    assert state["case"]["id"] == "case-001"
    assert events(page) == [("accept", "0")]


def test_many_tabs_at_once_keep_one_key_each_step(page):
    step = page.look()["step"]
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(page.press("accept", step).status))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [200] + [409] * 11
    assert events(page) == [("accept", "0")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 60_000, 400),
        ({"key": "accept"}, 400),
        ({"key": "explode", "step": 1}, 400),
        ({"key": "accept", "step": "1"}, 400),
        ({"key": "accept", "step": 1, "label": "reject"}, 400),
        ({"key": "note", "step": 1, "note": "x" * 10_001}, 422),
    ],
)
def test_what_is_no_key_is_refused_and_keeps_nothing(page, body, status):
    assert page.post(body).status == status
    assert events(page) == []


@pytest.mark.parametrize("length", [str(MOST_BODY + 1), "9" * 30])
def test_a_huge_body_is_refused_unread(page, length):
    assert page.post(b"x", Content_Length=length).status == 413


@pytest.mark.parametrize("length", ["-1", "x", "", "٣", None])
def test_a_body_of_no_known_length_is_refused(page, length):
    given = (
        {"Content_Length": length and length.encode()}
        if length is not None
        else {"Transfer_Encoding": "chunked"}
    )
    assert page.post(b"x", **given).status == 411


def test_who_is_silent_or_too_slow_is_cut_off(page, monkeypatch):
    monkeypatch.setattr(serving.Handler, "timeout", 0.05)
    for sent in (b"", b"GET / HT", b"POST /x HTTP/1.1\r\nHost: a\r\n"):
        with socket.create_connection(("127.0.0.1", page.link.port), timeout=PATIENCE) as line:
            assert cut_off(line, sent)
    monkeypatch.setattr(serving.Handler, "timeout", None)
    monkeypatch.setattr(serving, "LONGEST", 0.05)
    with socket.create_connection(("127.0.0.1", page.link.port), timeout=PATIENCE) as line:
        assert cut_off(line)


def cut_off(line, sent=b""):
    """Whether the server hangs up; it may do so before it has heard all, which resets the line."""
    try:
        line.sendall(sent)
        return line.recv(100) == b""
    except ConnectionError:
        return True


def test_a_crowd_of_silent_clients_keeps_nobody_out(page, monkeypatch):
    # However busy the machine is: nobody here is cut off for another reason.
    for name, seconds in (("ROOM", PATIENCE), ("LONGEST", PATIENCE)):
        monkeypatch.setattr(serving, name, seconds)
    monkeypatch.setattr(serving.Handler, "timeout", PATIENCE)
    place = "127.0.0.1", page.link.port
    held = [socket.create_connection(place, timeout=PATIENCE) for _ in range(serving.MOST_AT_ONCE)]
    try:
        for line in held:
            line.sendall(b"POST / HTTP/1.1\r\n")
        assert page.press("accept").status == 200
        # Each one more takes the place of the one who was silent longest.
        assert cut_off(held[0])
        held[-1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            held[-1].recv(100)
    finally:
        for line in held:
            line.close()


def test_where_every_place_is_the_browsers_own_the_next_is_turned_away(page, monkeypatch):
    release, inside = threading.Event(), threading.Semaphore(0)
    look = Desk.look

    def slow(desk):
        inside.release()
        release.wait(PATIENCE)
        return look(desk)

    monkeypatch.setattr(Desk, "look", slow)
    threads = [
        threading.Thread(target=page.ask, args=("GET", f"{page.base}state"))
        for _ in range(serving.MOST_AT_ONCE)
    ]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert inside.acquire(timeout=PATIENCE)
    with socket.create_connection(("127.0.0.1", page.link.port), timeout=PATIENCE) as one:
        assert cut_off(one)
    release.set()
    for thread in threads:
        thread.join()


def raw(page, sent):
    """Send bytes as they are; return all that comes back."""
    said = b""
    with socket.create_connection(("127.0.0.1", page.link.port), timeout=PATIENCE) as line:
        try:
            line.sendall(sent.replace(b"{base}", page.base.encode()))
            line.shutdown(socket.SHUT_WR)
        except OSError as error:  # it hung up, which it may before it has heard all
            if not isinstance(error, ConnectionError) and error.errno != errno.ENOTCONN:
                raise
        with contextlib.suppress(ConnectionResetError):
            while more := line.recv(4096):
                said += more
    return said


def signed(page, body, *, length=None, more=b""):
    length = len(body) if length is None else length
    return (
        b"POST {base}press HTTP/1.1\r\nHost: %(host)s\r\nCookie: %(cookie)s\r\n"
        b"Origin: http://%(host)s\r\nContent-Type: application/json\r\n"
        b"X-Closecall-Form: %(form)s\r\nContent-Length: %(length)d\r\n%(more)s\r\n%(body)s"
    ) % {
        b"host": page.host.encode(), b"cookie": page.cookie.encode(), b"form": page.form.encode(),
        b"length": length, b"more": more, b"body": body,
    }  # fmt: skip


PRESS = b'{"key": "accept", "step": 1}'


@pytest.mark.parametrize(
    "more",
    [
        b"Host: evil.example\r\n",
        b"Origin: http://evil.example\r\n",
        b"Content-Length: 0\r\n",
        b"Content-Type: text/plain\r\n",
        b"X-Closecall-Form: guessed\r\n",
        b"no header at all\r\n",
    ],
)
def test_what_two_readers_could_read_differently_is_refused(page, more):
    assert raw(page, signed(page, PRESS, more=more)).startswith(b"HTTP/1.0 400 ")
    assert events(page) == []


def test_a_request_shorter_than_it_says_is_no_key(page):
    said = raw(page, signed(page, PRESS, length=len(PRESS) + 1))
    assert said.startswith(b"HTTP/1.0 400 ")
    assert events(page) == []
    assert raw(page, signed(page, PRESS)).startswith(b"HTTP/1.0 200 ")


def test_of_requests_in_one_go_the_first_is_answered(page):
    said = raw(page, signed(page, PRESS) + signed(page, b'{"key": "reject", "step": 2}'))
    assert said.count(b"HTTP/1.") <= 1
    assert events(page) == [("accept", "0")]


@pytest.mark.parametrize(
    "line",
    [
        b"GET {base}state?" + b"a=1&" * 9 + b" HTTP/1.1",
        b"GET http://[ HTTP/1.1",
        b"GET //[/ HTTP/1.1",
        b"GET {base} HTTP/0.9",
        b"GET {base}",
        b"GET",
        b"\x00",
        b"GET / HTTP/9.9",
    ],
)
def test_odd_first_lines_get_a_reply_with_every_header(page, line, capsys):
    said = raw(page, line + b"\r\nHost: %s\r\n\r\n" % page.host.encode())
    head, _, text = said.partition(b"\r\n\r\n")
    assert re.match(rb"HTTP/1\.0 4\d\d |HTTP/1\.0 505 ", head)
    for name in serving.HEADERS:
        assert f"\r\n{name}: ".encode() in head
    assert b"Traceback" not in text
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\n", b"GET <script> HTTP/9.9\r\n\r\n", b"G" * 70_000 + b"\r\n"]
)
def test_what_is_no_request_is_not_repeated(page, sent):
    said = raw(page, sent)
    assert b"<script>" not in said
    assert b"GGG" not in said


def test_a_key_that_cannot_be_kept_is_said_and_the_case_stays(page, monkeypatch):
    real = os.fsync

    def full(descriptor):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "fsync", full)
    reply = page.press("accept")
    assert reply.status == 507
    state = json.loads(reply.text)
    assert state["message"].startswith("Not kept: cannot write")
    assert state["case"]["id"] == "case-000"
    monkeypatch.setattr(os, "fsync", real)
    assert page.press("accept").status == 200
    assert events(page) == [("accept", "0")]


def test_a_second_annotator_is_told_nothing_over_the_wire(table, serve):
    made = table([row(0), row(1)])
    session = made.sit()
    session.note("hidden reason")
    session.label(REJECT)
    session.label(ACCEPT)
    client = serve(made.sit(annotator="ana", mode="second"))
    client.enter()
    text = json.dumps(client.look())
    assert "hidden reason" not in text
    assert client.look()["lines"] == []
    assert "first" not in text


def test_only_the_loopback_is_listened_on(table, serve):
    session = table([row(0)]).sit()
    server = Server(Desk(session), 0)
    try:
        assert server.server_address[0] == "127.0.0.1"
        with pytest.raises(UsageError, match=r"--port .*--port 0 takes a free one"):
            serving.serve(session, port=server.server_address[1], say=print)
    finally:
        server.server_close()


@pytest.fixture
def started(tmp_path):
    """``closecall label --web`` in a process of its own, with a client that was let in."""
    made = []

    def call(file):
        # A shell that starts jobs in the background has them ignore Ctrl-C.
        code = (
            "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from closecall.cli import main; main(sys.argv[1:])"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, "label", str(file), "--web", "--order", "file"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        made.append(process)
        link = next(line.strip() for line in process.stdout if "token=" in line)
        client = Client(link)
        client.enter()
        return process, client

    yield call
    for process in made:
        process.kill()
        process.communicate()


def test_killed_in_the_middle_it_goes_on_with_every_key(table, started):
    made = table([row(at) for at in range(6)])
    process, client = started(made.file)
    for key in ("accept", "reject", "accept"):
        assert client.press(key).status == 200
    process.kill()
    process.wait()
    process, client = started(made.file)
    assert client.look()["case"]["id"] == "case-003"
    assert client.look()["counted"] == "3 of 6 done: 2 accepts, 1 reject"


@pytest.mark.skipif(os.name != "posix", reason="sends the signal of Ctrl-C as POSIX does")
def test_ctrl_c_ends_it_cleanly(table, started):
    made = table([row(at) for at in range(6)])
    process, client = started(made.file)
    client.press("accept")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "1 of 6 done" in out
    assert "--export labelled.jsonl" in out
    Journal(made.path, "cases.jsonl").close()


def test_q_of_the_page_ends_it_cleanly(table, started):
    made = table([row(at) for at in range(6)])
    process, client = started(made.file)
    client.press("accept")
    assert client.post({}, "quit").status == 200
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "1 of 6 done" in out
