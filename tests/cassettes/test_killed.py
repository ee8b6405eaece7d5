"""A process that is killed while it records loses nothing that it recorded."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from recorded_things import SPEC, never

from closecall.cassettes import open_cassette
from closecall.cassettes.verifying import verify

HERE = Path(__file__).parent

ENDLESS = """
import itertools, sys
from recorded_things import SPEC, Remote
from closecall.cassettes import open_cassette

cassette = open_cassette(sys.argv[1], sys.argv[2])
embedder = cassette.embedder(Remote, SPEC)
for step in itertools.count():
    embedder.embed([f"text {step}"])
    print(step, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
@pytest.mark.parametrize("mode", ["record", "record-missing"])
def test_kill_9_while_recording_loses_nothing(mode, folder):
    texts = 0
    for _ in range(3):
        worker = subprocess.Popen(
            [sys.executable, "-c", ENDLESS, str(folder), mode],
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join([str(HERE), *(part for part in sys.path if part)])},
            stdout=subprocess.PIPE,
            text=True,
        )
        for line in worker.stdout:
            texts = max(texts, int(line) + 1)
            if int(line) >= 40:
                break
        worker.send_signal(signal.SIGKILL)
        # What it printed before it died was recorded too.
        texts = max([texts, *(int(line) + 1 for line in worker.stdout if line.endswith("\n"))])
        worker.wait()
        worker.stdout.close()
        with open_cassette(folder, "replay") as cassette:
            cassette.embedder(never, SPEC).embed([f"text {n}" for n in range(texts)])
    open_cassette(folder, "record-missing").close()
    assert [path.name for path in folder.iterdir()] == ["default.jsonl"]
    assert not verify(folder).problems
    assert verify(folder).entries >= texts
