"""A process that starts or continues a run with a slowed embedder; says how far it is.

Arguments: cases, run folder, seconds a batch takes, cases in a batch, ``memory`` to end with the
peak of its memory in KiB.
"""

import resource
import sys
import time
from pathlib import Path

from closecall import evaluate
from closecall.runs import runner
from closecall.testing import HashEmbedder

if __name__ == "__main__":
    cases, folder, seconds, batch = sys.argv[1:5]
    runner.BATCH_CASES = int(batch)
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
        progress=lambda done, _: print(done, flush=True),  # noqa: T201 - read by the test
    )
    print("exit", run.exit_code, flush=True)  # noqa: T201 - same
    if sys.argv[5:] == ["memory"]:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # noqa: T201 - same
