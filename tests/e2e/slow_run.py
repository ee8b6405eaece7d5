"""A process that starts or continues a run with a slowed embedder; says how far it is.

Arguments: cases, run folder, seconds a batch takes, cases in a batch; then perhaps ``memory``, to
end with the peak of its memory in bytes, where nothing of a small file or run is kept to save
time, or ``hold`` and a number of cases, to wait to be killed once so many are written.
"""

import resource
import sys
import threading
import time
from pathlib import Path

from closecall import evaluate
from closecall.datasets import _dataset
from closecall.runs import held, runner
from closecall.testing import HashEmbedder


def peak():
    """The kernel's count of this process; ``ru_maxrss`` counts that of the one which started it."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS counts in bytes
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024


def told(done, _):
    print(done, flush=True)  # noqa: T201 - read by the test
    if sys.argv[5:6] == ["hold"] and done >= int(sys.argv[6]):
        threading.Event().wait()


if __name__ == "__main__":
    cases, folder, seconds, batch = sys.argv[1:5]
    runner.BATCH_CASES = int(batch)
    if sys.argv[5:] == ["memory"]:
        held.MOST_CASES = _dataset._KEPT_BYTES = 0
    embedder = HashEmbedder(dims=16, on_embed=lambda _: time.sleep(float(seconds)))
    run = evaluate(
        cases,
        "embed_answer_similarity,embed_response_context",
        embedder,
        aef=folder,
        resume=(Path(folder) / "run.json").exists(),
        cache=False,
        on_bad_row="skip",
        name="slow",
        progress=told,
    )
    print("exit", run.exit_code, flush=True)  # noqa: T201 - read by the test
    if sys.argv[5:] == ["memory"]:
        print(peak())  # noqa: T201 - same
