"""What every host is tested with: a session of one test's own, cases of each state, and no network.

The hosts are not among closecall's test dependencies: where one is not installed its tests are
skipped, and where its import breaks they fail.
"""

import importlib
import importlib.util
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
from labelled_rows import rows, unlabelled

from closecall import Goal, calibrate, load_calibration, save_calibration
from closecall.asserting import current
from closecall.asserting.session import Session


@pytest.fixture(autouse=True)
def _quiet(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "RAGAS_DO_NOT_TRACK": "true",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
        "DEEPEVAL_DISABLE_DOTENV": "1",
        "INSPECT_DISPLAY": "none",
        "INSPECT_LOG_DIR": str(tmp_path / "logs"),
        "NO_COLOR": "1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def host():
    """Import a module that may be missing; its warnings are not this suite's."""

    def imported(name):
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            pytest.skip(f"{name} is not installed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)

    return imported


@pytest.fixture(autouse=True)
def session():
    made = Session()

    def opener():
        return made

    current.enter(opener)
    yield made
    current.leave(opener)
    made.close()


@pytest.fixture
def opened(monkeypatch):
    """The names of the embedders that were opened, in order."""
    from closecall.runs import asked

    names = []
    real = asked.load_embedder

    def load(spec, **options):
        names.append(spec)
        return real(spec, **options)

    monkeypatch.setattr(asked, "load_embedder", load)
    return names


@pytest.fixture(scope="session")
def cutoffs(tmp_path_factory):
    """A calibration with two cutoffs, and the path of its file."""
    place = tmp_path_factory.mktemp("made")
    found = calibrate(rows(), goal=Goal(max_far=0.1, max_frr=0.2), cache=place)
    save_calibration(found, place / "two.json")
    return place / "two.json"


@pytest.fixture(scope="session")
def by_state(cutoffs):
    """One (response, reference) that the calibration passes, fails and leaves unsure."""
    two = load_calibration(cutoffs)
    by_id = {case["id"]: case for case in unlabelled(rows())}
    found = {}
    for name, value in zip(two.sample.ids, two.sample.scores, strict=True):
        accept, reject = two.accept_cutoff.value, two.reject_cutoff.value
        state = "passed" if value >= accept else "failed" if value < reject else "unsure"
        case = by_id[name]
        found.setdefault(state, (case["response"], case.get("reference") or case["references"]))
    return found
