"""``--offline``: nothing leaves this machine, and whatever wanted to is named."""

import http.client
import os
import socket
import threading

import pytest

from closecall.cli import run as command_line
from closecall.errors import ConfigurationError
from closecall.offline import VARIABLE, offline, require_online, sealed


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_the_variable_is_on(value):
    assert offline({VARIABLE: value})
    with pytest.raises(ConfigurationError, match="pulling a model needs the network"):
        require_online("pulling a model", {VARIABLE: value})


@pytest.mark.parametrize("value", ["", " ", "0", "off", "False"])
def test_the_variable_is_off(value):
    assert not offline({VARIABLE: value})
    require_online("anything", {VARIABLE: value})


def test_a_variable_that_is_neither_is_no_silent_off():
    with pytest.raises(ConfigurationError, match="must be on or off"):
        offline({VARIABLE: "maybe"})


@pytest.mark.parametrize("host", ["203.0.113.7", "example.com", "2001:db8::1", b"example.com"])
def test_a_sealed_process_reaches_nobody_and_says_who_was_wanted(host):
    with sealed("no network here") as tried:
        with pytest.raises(ConfigurationError, match="no network here, and something wanted to"):
            socket.getaddrinfo(host, 443)
        name = host.decode() if isinstance(host, bytes) else host
        with pytest.raises(ConfigurationError):
            http.client.HTTPConnection(name, timeout=1).connect()
    assert len(tried) == 2


@pytest.mark.parametrize(
    "call", ["gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getfqdn", "getnameinfo"]
)
def test_every_way_to_look_up_a_name_is_stopped(call):
    asked = (("203.0.113.7", 9), 0) if call == "getnameinfo" else ("example.com",)
    with sealed() as tried, pytest.raises(ConfigurationError, match=VARIABLE):
        getattr(socket, call)(*asked)
    assert len(tried) == 1


def test_a_datagram_is_stopped_too():
    with sealed() as tried, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        with pytest.raises(ConfigurationError):
            one.sendto(b"x", ("203.0.113.7", 9))
        with pytest.raises(ConfigurationError):
            one.sendto(b"x", 0, ("203.0.113.7", 9))
        if hasattr(one, "sendmsg"):
            with pytest.raises(ConfigurationError):
                one.sendmsg([b"x"], [], 0, ("203.0.113.7", 9))
            assert len(tried) == 3


def test_the_variable_seals_the_whole_command_line(monkeypatch, capsys):
    import closecall.cli as module

    def connects(*_args, **_more):
        socket.create_connection(("203.0.113.7", 80), timeout=1)

    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(module.cli, "main", connects)
    assert command_line(["doctor"]) == 3
    assert "something wanted to reach 203.0.113.7" in capsys.readouterr().err
    monkeypatch.setenv(VARIABLE, "maybe")
    assert command_line(["doctor"]) == 3
    assert "must be on or off" in capsys.readouterr().err


@pytest.mark.parametrize("call", ["connect", "connect_ex"])
def test_a_plain_socket_is_stopped_too(call):
    with sealed(), socket.socket() as one, pytest.raises(ConfigurationError, match=VARIABLE):
        getattr(one, call)(("203.0.113.7", 9))


@pytest.mark.loopback
def test_this_machine_stays_in_reach_and_all_is_as_before_afterwards():
    server = socket.create_server(("127.0.0.1", 0))

    def answer():
        server.accept()[0].close()

    answering = threading.Thread(target=answer, daemon=True)
    answering.start()
    before = (socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo)
    with server, sealed() as tried:
        socket.create_connection(("localhost", server.getsockname()[1]), timeout=60).close()
        answering.join(60)
    assert tried == []
    assert (socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo) == before


def test_the_option_seals_the_command_and_nothing_after_it(monkeypatch, capsys):
    monkeypatch.delenv(VARIABLE, raising=False)
    before = socket.getaddrinfo
    seen = []
    from closecall.runs import pair

    inner = pair.score_pair

    def watch(*args, **more):
        seen.append((os.environ.get(VARIABLE), socket.getaddrinfo is before))
        return inner(*args, **more)

    monkeypatch.setattr(pair, "score_pair", watch)
    assert command_line(["score", "a cat", "a cat", "--offline"]) == 0
    assert seen == [("1", False)]
    assert VARIABLE not in os.environ
    assert socket.getaddrinfo is before


def test_a_provider_is_refused_offline_and_the_network_is_named(monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    code = command_line(["score", "a", "b", "--embedder", "openai:m", "--offline"])
    assert code == 3
    said = capsys.readouterr().err
    assert "openai (api.openai.com) needs the network" in said
    # Whoever typed the option has no variable to unset.
    assert "--offline or CLOSECALL_OFFLINE forbids it. Leave that out" in said
    assert "sk-not-a-key" not in said


def test_doctor_shows_that_nothing_needs_the_network(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AI_INFERENCE_PROVIDER", raising=False)
    assert command_line(["doctor", "--offline"]) == 0
    assert "ok  offline          no connection tried" in capsys.readouterr().out


def test_doctor_names_what_tried_to_reach_the_network(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert command_line(["doctor", "--offline"]) == 3
    said = capsys.readouterr().out
    assert "BAD offline          tried to reach api.openai.com" in said
    assert "sk-not-a-key" not in said
