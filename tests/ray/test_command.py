"""``closecall eval --engine ray``: its own Ray, its refusals, and a driver that is killed."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.loopback

here = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None or importlib.util.find_spec("pyarrow") is None,
    reason="Ray is not installed: pip install '.[ray]'",
)


@pytest.fixture
def cases(tmp_path):
    rows = [
        {"id": f"q{n}", "response": f"river {n} rose", "reference": f"river {n % 50} rose", "n": n}
        for n in range(400)
    ]
    place = tmp_path / "cases.jsonl"
    place.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return place


@pytest.fixture
def plugin(tmp_path):
    """An embedder of another package that is slow, so that a run can be met half-way."""
    place = tmp_path / "site"
    place.mkdir()
    (place / "slow_words.py").write_text(
        """
import os, time
from closecall.testing import HashEmbedder

def make(rest, *, window, threads):
    def slow(texts):
        if os.path.exists(os.environ["SLOW_MARK"]):
            time.sleep(0.5)
    return HashEmbedder(model="slow words", on_embed=slow)
""",
        encoding="utf-8",
    )
    info = place / "slow_words-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-words\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[closecall.embedders]\nslow = slow_words:make\n")
    return place


@pytest.fixture
def run(tmp_path, plugin):
    with tempfile.TemporaryDirectory(prefix="cc", ignore_cleanup_errors=True) as ray_place:
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(plugin), os.environ["PYTHONPATH"]]),
            "RAY_TMPDIR": ray_place,
            "HOME": ray_place,
            "SLOW_MARK": str(tmp_path / "slow"),
            "OPENAI_API_KEY": "sk-in-no-log-at-all",
        }

        def call(*args, wait=True):
            command = [sys.executable, "-m", "closecall", "eval", *map(str, args)]
            process = subprocess.Popen(
                command,
                cwd=tmp_path,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            if not wait:
                return process
            out, err = process.communicate(timeout=300)
            return process.returncode, out, err

        call.place = Path(ray_place)
        yield call


def parts(folder):
    return sorted(path.name for path in (folder / "parts").glob("*.parquet"))


@here
def test_a_run_has_its_own_ray_and_is_that_of_one_process(run, cases, tmp_path):
    asked = [cases, "--embedder", "slow", "--format", "json", "-q", "--offline"]
    code, out, err = run(*asked, "--parts", "on", "--engine", "ray", "--workers", 2)
    assert (code, err) == (1, "")
    alone = run(*asked, "--no-aef")
    assert alone[0] == code
    mine, theirs = json.loads(out), json.loads(alone[1])
    assert mine["metrics"] == theirs["metrics"]
    assert mine["stats"] == theirs["stats"]
    kept = "".join(
        path.read_text(errors="replace")
        for place in (run.place, tmp_path / "on")
        for path in place.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    assert "sk-in-no-log-at-all" not in kept


@here
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_stopped_leaves_what_was_done_and_goes_on(run, cases, tmp_path, how):
    (tmp_path / "slow").touch()
    asked = ["--engine", "ray", "--workers", 2, "--part-cases", 20]
    process = run(cases, "--embedder", "slow", "--parts", "on", *asked, wait=False)
    until = time.monotonic() + 200
    while len(parts(tmp_path / "on")) < 3 and time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    os.kill(process.pid, how)
    _, err = process.communicate(timeout=100)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "Go on with: closecall eval --resume" in err
        assert "Traceback" not in err
    before = parts(tmp_path / "on")
    assert 3 <= len(before) < 20
    (tmp_path / "slow").unlink()
    code, out, err = run("--resume", "on", "--format", "json")
    assert code == 1
    assert set(before) < set(parts(tmp_path / "on"))
    assert json.loads(out)["stats"]["total"] == 400
    assert run("--resume", "on")[0] == 1


REFUSED = [
    (["--runs", "3"], "--runs does not go with --engine ray: only answers"),
    (["--subject-command", "x"], "--subject-command does not go with --engine ray"),
    (["--judge-model", "openai:x"], "--judge-model does not go with --engine ray"),
    (["--replay", "tape"], "--replay does not go with --engine ray: a recording"),
    (["--budget", "100"], "--budget does not go with --engine ray: one process has to count"),
    (["--shard", "1/2"], "--shard does not go with --engine ray: the workers share"),
    (["--workers", "0"], "is not in the range"),
]


@pytest.mark.parametrize(("more", "told"), REFUSED)
def test_what_workers_cannot_do_is_a_usage_error_that_says_why(cases, capsys, more, told):
    from closecall.cli import run

    code = run(["eval", str(cases), "--engine", "ray", "--parts", str(cases.parent / "p"), *more])
    assert code == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not (cases.parent / "p").exists()


def test_workers_need_a_place_for_parts_and_parts_need_the_engine(cases, capsys):
    from closecall.cli import run

    assert run(["eval", str(cases), "--engine", "ray"]) == 2
    assert "--engine ray needs --parts DIR" in capsys.readouterr().err
    assert run(["eval", str(cases), "--workers", "2"]) == 2
    assert "--workers says how many workers --engine ray has" in capsys.readouterr().err


@here
def test_a_cluster_that_cannot_be_reached_is_told_at_once(monkeypatch):
    from closecall.errors import ConfigurationError
    from closecall.ray.cluster import cluster

    def refused(address, timeout):
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("socket.create_connection", refused)
    for address in ("10.1.2.3:9", "127.0.0.1:9"):
        told = rf"no Ray cluster at {re.escape(address)}: .*refused"
        with pytest.raises(ConfigurationError, match=told), cluster(address):
            pass


@here
def test_an_address_that_is_refused_begins_nothing(cases, capsys):
    from closecall.cli import run

    parts = cases.parent / "p"
    asked = ["eval", str(cases), "--engine", "ray", "--parts", str(parts), "--ray-address"]
    assert run([*asked, "ray://127.0.0.1:9"]) == 2
    assert "Ray's client (ray://) cannot drive a run" in capsys.readouterr().err
    assert run([*asked, "10.1.2.3:9", "--offline"]) == 3
    assert "is on the network, and --offline or CLOSECALL_OFFLINE forbids it" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not parts.exists()


@here
def test_what_ray_says_of_no_cluster_ends_in_one_full_stop(monkeypatch):
    import ray
    from closecall.errors import ConfigurationError
    from closecall.ray.cluster import cluster

    def none(**_):
        raise ConnectionError("Could not find any running Ray instance.\nMore lines")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", none)
    told = (
        r"no Ray cluster at auto: Could not find any running Ray instance\. One that asks for a "
        r"token takes RAY_AUTH_MODE=token"
    )
    with pytest.raises(ConfigurationError, match=f"^{told}$"), cluster("auto"):
        pass
