"""Whole runs on moto's S3 and on Azurite: lost connections, killed processes, and no key anywhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from keys import AZURE_KEY, KEY_ID, SECRET

from closecall.cli import run
from closecall.storage import open_store

pytestmark = [
    pytest.mark.loopback,
    # aiohttp, about bytes of more than a megabyte; Azure's package hands them over so.
    pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning"),
]
ROWS = [
    {"id": f"case-{n}", "response": f"answer {n} " * 8, "references": [f"answer {n % 7} " * 8]}
    for n in range(400)
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
EVAL = ("-m", "token_f1", "--cutoff", "0.7", "--guards", "off", "--no-cache")


@pytest.fixture
def answers(server, here):
    url = f"{server.url}/answers.jsonl"
    open_store(server.url).write("answers.jsonl", LINES)
    server.proxy.requests.clear()
    return url


@pytest.fixture
def told(capfd):
    """Run a command; return its exit code and all it wrote, in which no key may be."""

    def call(*args):
        capfd.readouterr()
        code = run(list(map(str, args)))
        said = "\n".join(capfd.readouterr())
        assert not leaked(said.encode())
        return code, said

    return call


def leaked(data):
    return [key for key in (KEY_ID, SECRET, AZURE_KEY) if key.encode() in data]


def require_whole(server, told, name="r1"):
    """Every case is there once, sealed, and no key is in any object or file."""
    code, said = told("verify", f"{server.url}/runs/{name}")
    assert (code, "400 cases, 400 results, sealed" in said) == (0, True), said
    store = open_store(server.url)
    for each in store.names():
        assert not leaked(store.read(each))
    for path in Path().rglob("*"):
        assert not path.is_file() or not leaked(path.read_bytes())


def test_a_run_through_lost_connections_is_whole(server, answers, told):
    lost = {"answers.jsonl": [("answer", 30_000), ("answer", 60_000), ("before", 0)],
            "results.ndjson": [("upload", 20_000), ("answer", 0)],
            "seal.json": [("before", 0), ("answer", 0)]}  # fmt: skip

    def rule(_number, method, path):
        for name, left in lost.items():
            if name in path and left and (method == "PUT") == (name != "answers.jsonl"):
                return left.pop(0)
        return None

    server.proxy.rule = rule
    code, said = told("eval", answers, *EVAL, "--aef", f"{server.url}/runs/r1")
    assert (code, any(lost.values())) == (1, False), said
    require_whole(server, told)
    assert list(Path(".closecall/spool").iterdir()) == []


def test_a_run_whose_server_goes_away_is_safe_and_pushed_later(server, answers, told):
    server.proxy.rule = lambda _number, method, path: (
        ("upload", 5_000) if method == "PUT" and "results" in path else None
    )
    code, said = told("eval", answers, *EVAL, "--aef", f"{server.url}/runs/r1")
    assert code == 4
    assert re.search(
        r"results\.ndjson: writing failed 7 times: .*The run is safe in .*spool", said
    )
    assert f"closecall eval --resume {server.url}/runs/r1" in said
    server.proxy.heal()
    assert told("verify", f"{server.url}/runs/r1")[0] == 4
    code, said = told("eval", "--resume", f"{server.url}/runs/r1")
    assert code == 1, said
    require_whole(server, told)
    assert list(Path(".closecall/spool").iterdir()) == []


def test_a_data_set_that_cannot_be_fetched_leaves_no_run(server, answers, told):
    server.proxy.rule = lambda _number, method, path: (
        ("answer", 10_000) if method == "GET" and "answers" in path else None
    )
    code, said = told("eval", answers, *EVAL, "--aef", f"{server.url}/runs/r1")
    assert code == 4
    assert f"{answers}: reading failed 7 times" in said
    server.proxy.heal()
    assert open_store(server.url).names() == ["answers.jsonl"]


def test_an_output_is_put_there_through_lost_connections(server, answers, told):
    server.proxy.lose("PUT", "report.json", "upload", 1000, times=2)
    out = f"{server.url}/out/report.json"
    code, said = told("eval", answers, *EVAL, "--no-aef", "-o", out)
    assert (code, server.proxy.lost) == (1, 2), said
    report = json.loads(open_store(server.url).read("out/report.json"))
    assert report["metadata"]["Dataset"] == answers


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
def test_a_killed_run_goes_on_on_its_machine_and_is_told_to_others(server, told, here, elsewhere):
    rows = [{"id": f"case-{n}", "input": f"question {n}", "references": ["yes"]} for n in range(3)]
    open_store(server.url).write(
        "asked.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode()
    )
    desk = here.parent / "desk.py"
    desk.write_text(
        "import json, os, pathlib, signal, sys\n"
        "case = json.load(sys.stdin)\n"
        "flag = pathlib.Path(__file__).with_name('killed')\n"
        "if case['id'] == 'case-1' and not flag.exists():\n"
        "    flag.touch()\n"
        "    os.kill(int(os.environ['VICTIM']), signal.SIGKILL)\n"
        "print('yes')\n",
        encoding="utf-8",
    )
    place = f"{server.url}/runs/r1"
    code = "import os, sys; os.environ['VICTIM'] = str(os.getpid()); from closecall.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "eval", f"{server.url}/asked.jsonl", *EVAL, "--aef", place,
         "--subject-command", f"{sys.executable} {desk}"],
        check=False, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == -9, done.stderr
    assert not leaked(done.stdout + done.stderr)
    assert open_store(place).names() == ["ext/closecall/claim.json"]
    elsewhere()
    said = told("eval", "--resume", place)
    assert said[0] == 4
    assert re.search(r"is being written by process \d+ on .* since .*--take-over", said[1])
    os.chdir(here)  # put back by the fixture
    code, said = told("eval", "--resume", place)
    assert code == 0, said
    assert "3 cases, 3 results, sealed" in told("verify", place)[1]


def test_keys_in_an_address_are_not_shown(s3, here, told, monkeypatch):
    """What the environment names may be wrong, and hold a key where none belongs."""
    assert told("eval", f"{s3.url}/none.jsonl")[0] == 4
    for endpoint in (f"http://{KEY_ID}:{SECRET}@127.0.0.1:{s3.proxy.port}", f"nonsense {SECRET}"):
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        code, said = told("eval", f"{s3.url}/none.jsonl")
        assert code in {3, 4}, said
