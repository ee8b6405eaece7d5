"""Importing any module opens nothing, starts nothing and writes nothing; nobody is told of use."""

import json
import os
import subprocess
import sys

import pytest

IMPORT_ALL = """
import importlib, json, pkgutil, sys, threading

events = {"open": [], "socket": [], "process": []}
SOCKETS = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname")
PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")

def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        mode, flags = arguments[1], arguments[2]
        if (mode and set(mode) & set("wax+")) or (mode is None and flags & 3):
            events["open"].append(str(arguments[0]))
    elif event in SOCKETS:
        events["socket"].append(f"{event} {arguments[1:]}")
    elif event in PROCESSES:
        events["process"].append(f"{event} {arguments[0]}")

sys.dont_write_bytecode = True
sys.addaudithook(watch)
import closecall
done, absent = [], {}
for one in pkgutil.walk_packages(closecall.__path__, "closecall.", onerror=lambda name: None):
    if one.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(one.name)
        done.append(one.name)
    except ImportError as error:
        absent[one.name] = str(error)
events["threads"] = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
print(json.dumps({"done": done, "absent": absent, **events}))
"""

OPTIONAL = (
    "closecall.integrations.",
    "closecall.labelling.terminal",
    "closecall.pytest_plugin",
    "closecall.ray",
)
"""What belongs to another program, which need not be here."""


def test_importing_every_module_opens_and_starts_nothing(tmp_path, no_network):
    house = tmp_path / "house"
    house.mkdir()
    said = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        check=True, capture_output=True, text=True, cwd=house, timeout=300,
        env={**os.environ, "HOME": str(house), "XDG_CACHE_HOME": str(house), "TMPDIR": str(house)},
    )  # fmt: skip
    found = json.loads(said.stdout)
    assert len(found["done"]) > 300
    assert [name for name in found["absent"] if not name.startswith(OPTIONAL)] == []
    assert (found["socket"], found["process"], found["threads"]) == ([], [], [])
    assert found["open"] == []
    assert list(house.rglob("*")) == []
    assert not no_network.exists()


RUNTIME = """
import onnxruntime
calls = []
quiet, session = onnxruntime.disable_telemetry_events, onnxruntime.InferenceSession
onnxruntime.disable_telemetry_events = lambda: (calls.append("quiet"), quiet())[1]

class Session(session):
    def __init__(self, *given, **more):
        calls.append("session")
        super().__init__(*given, **more)

onnxruntime.InferenceSession = Session
from closecall import load_embedder
load_embedder("minilm").embed(["a text"])
assert calls[0] == "quiet" and "session" in calls, calls
"""


def test_the_runtime_is_told_to_keep_its_use_to_itself_before_it_computes():
    subprocess.run([sys.executable, "-c", RUNTIME], check=True, timeout=120)


def test_a_ray_started_here_tells_nobody_of_its_use(monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed: closecall[ray]")
    from closecall.ray import cluster

    seen = []

    class Ray:
        def is_initialized(self):
            return False

        def shutdown(self):
            pass

    def connect(*_args, **_options):
        seen.append(os.environ.get("RAY_USAGE_STATS_ENABLED"))

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    monkeypatch.setattr(cluster, "load_ray", Ray)
    monkeypatch.setattr(cluster, "_connect", connect)
    with cluster.cluster():
        pass
    monkeypatch.setattr(cluster, "_require_address", lambda _: None)
    with cluster.cluster("auto"):
        pass
    assert seen == ["0", "0"]
