"""What the driver of a run on workers does by itself, with blocks done in this very process.

Ray may be installed or not: nothing here starts it.
"""

import importlib.util
import json
import sys
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import pytest

import closecall
from closecall import Goal, calibrate, evaluate
from closecall.errors import ConfigurationError, RunFolderError, UsageError
from closecall.testing import HashEmbedder

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install '.[parquet]'")

CASES = 40
RULES = ('pass_rate(semantic_similarity where slice.part = "p1") >= 0.9',)


class KilledError(BaseException):
    """As a driver ends that is killed: nothing after it is done."""


@pytest.fixture
def ray(monkeypatch):
    """The package ``closecall.ray``, with a Ray that does nothing where there is none."""
    before = set(sys.modules)
    if importlib.util.find_spec("ray") is None:
        stub = ModuleType("ray")
        stub.__spec__ = ModuleSpec("ray", None)
        stub.cloudpickle = SimpleNamespace(dumps=lambda _value: b"")
        monkeypatch.setitem(sys.modules, "ray", stub)
    import closecall.ray

    yield closecall.ray
    for name in set(sys.modules) - before:
        if name.partition(".ray")[0] == "closecall" and name != "closecall":
            del sys.modules[name]
    if "closecall.ray" not in sys.modules:
        del closecall.ray


@pytest.fixture
def driver(ray, monkeypatch):
    """Run on workers that are this process; ``driver.died_after`` kills it after some blocks."""
    from closecall.ray import running

    told = SimpleNamespace(died_after=None, spent="", notices=[])

    def run_blocks(task, blocks, done, **_):
        task.load()
        for at, block in enumerate(blocks):
            if at == told.died_after:
                raise KilledError
            made = task.do(block)
            done(made._replace(spent=told.spent) if told.spent else made)

    monkeypatch.setattr(running, "run_blocks", run_blocks)
    monkeypatch.setattr(running, "_cluster", lambda _workers: nullcontext())

    def run(cases, output, metrics="semantic_similarity", **options):
        asked = {"embedder": HashEmbedder(), "part_size": 10, "on_notice": told.notices.append}
        return ray.evaluate_dataset(cases, metrics, output=output, **asked | options)

    told.run = run
    return told


def rows(count=CASES):
    return [
        {
            "id": f"q{n}",
            "input": f"How high did river {n} rise?",
            "response": f"River {n} rose by {n % 5} metres",
            "reference": f"River {n} rose by {n % 3} metres in May",
            "label": "accept" if n % 5 == n % 3 else "reject",
            "part": f"p{n % 4}",
        }
        for n in range(count)
    ]


@pytest.fixture
def cases(tmp_path):
    place = tmp_path / "cases.jsonl"
    place.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    return place


def alone(cases, **options):
    from closecall.gates.deciding import DecidingGates

    return evaluate(
        cases,
        "semantic_similarity",
        HashEmbedder(),
        watch=lambda header: DecidingGates(RULES, header),
        cache=False,
        **options,
    )


def test_the_run_folder_beside_has_the_gates_and_needs_no_calibration_again(
    driver, cases, tmp_path
):
    made = calibrate(
        rows(120),
        "semantic_similarity",
        embedder=HashEmbedder(),
        goal=Goal(max_far=0.3),
        cache=False,
    )
    options = {"calibration": made, "labelled": None}
    whole = alone(cases, calibration=made)
    run = driver.run(cases, tmp_path / "parts", aef=tmp_path / "aef", gates=RULES, **options)
    stored = closecall.load_run(tmp_path / "aef")
    for found in (run, stored):
        assert found.gates == whole.gates
        assert found.gates_code == whole.gates_code
        assert found.watched == whole.watched
        assert found.metrics == whole.metrics


def test_a_driver_killed_before_it_wrote_the_run_folder_writes_it_when_it_goes_on(
    driver, cases, tmp_path, monkeypatch
):
    def killed(*_args, **_options):
        raise KilledError

    options = {"aef": tmp_path / "aef", "gates": RULES}
    with monkeypatch.context() as dying:
        dying.setattr("closecall.bulk.merging.merge_runs", killed)
        with pytest.raises(KilledError):
            driver.run(cases, tmp_path / "parts", **options)
    assert not (tmp_path / "aef").exists()
    for _ in range(2):
        run = driver.run(cases, tmp_path / "parts", resume=True, **options)
        assert run.gates == closecall.load_run(tmp_path / "aef").gates == alone(cases).gates
    with pytest.raises(RunFolderError, match="already holds a run"):
        driver.run(cases, tmp_path / "others", **options)


def test_parts_noted_for_other_gates_are_not_counted_by_these(driver, cases, tmp_path):
    driver.died_after = 2
    with pytest.raises(KilledError):
        driver.run(cases, tmp_path / "parts", gates=RULES)
    driver.died_after = None
    with pytest.raises(UsageError, match="begun with other gates"):
        driver.run(cases, tmp_path / "parts", gates=[RULES[0].replace("p1", "p2")], resume=True)
    run = driver.run(cases, tmp_path / "parts", gates=RULES, resume=True)
    assert run.gates == alone(cases).gates


def test_what_was_spent_before_the_driver_was_killed_counts(driver, cases, tmp_path):
    from closecall.bulk.counting import Totals
    from closecall.ray.parts import spelt
    from closecall.runs.spending import Spending, Spent

    one = Spent(role="embedder", provider="p", model="m", requests=1, prompt_tokens=5)
    driver.spent, driver.died_after = spelt(Totals(spending=Spending(spent=(one,)))), 3
    with pytest.raises(KilledError):
        driver.run(cases, tmp_path / "parts")
    assert closecall.load_run(tmp_path / "parts").spending.tokens == 15
    driver.died_after = None
    run = driver.run(cases, tmp_path / "parts", resume=True)
    assert run.spending.tokens == 20
    assert closecall.load_run(tmp_path / "parts").spending == run.spending


@pytest.fixture
def begun(driver, cases, tmp_path):
    """A run that was killed; return a function that goes on after its header was changed."""
    driver.died_after = 1
    with pytest.raises(KilledError):
        driver.run(cases, tmp_path / "parts", "token_f1", embedder=None)
    driver.died_after = None
    from closecall.ray.resuming import resume_dataset

    def go_on(change, **options):
        path = tmp_path / "parts" / "run.json"
        facts = json.loads(path.read_bytes())
        change(facts["config"]["closecall"]["asked"])
        path.write_text(json.dumps(facts), encoding="utf-8")
        return resume_dataset(tmp_path / "parts", on_notice=driver.notices.append, **options)

    return go_on


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("concurrency", "many"),
        ("concurrency", [1, 2, 3]),
        ("num_cpus", "all"),
        ("num_gpus", [1]),
        ("address", 5),
        ("aef", {}),
    ],
)
def test_workers_of_a_header_that_are_none_are_refused_by_name(begun, name, value):
    with pytest.raises(RunFolderError, match=rf"parts: the run's header: asked\.engine: .*{name}"):
        begun(lambda asked: asked["engine"].update({name: value}))


@pytest.mark.parametrize("number", [1e308, -1, 1e-300])
def test_shares_of_a_machine_that_there_are_not_are_refused(begun, number):
    with pytest.raises(UsageError, match="from 0 to 10,000"):
        begun(lambda asked: asked["engine"].update(num_cpus=number))


def test_a_header_without_what_it_keeps_of_workers_goes_on_all_the_same(begun):
    run = begun(lambda asked: asked.update(engine={"name": "ray"}, labels=5))
    assert run.cases.total == CASES


def test_no_file_sends_this_process_to_another_machine_or_writes_elsewhere(
    begun, driver, tmp_path
):
    elsewhere = tmp_path / "elsewhere"

    def change(asked):
        asked["engine"].update(address="192.0.2.1:6379", aef=str(elsewhere))

    with pytest.raises(RunFolderError, match=r"--ray-address 192\.0\.2\.1:6379"):
        begun(change)
    run = begun(change, address="127.0.0.1:6379")
    assert run.cases.total == CASES
    assert not elsewhere.exists()
    assert f"-o {elsewhere}" in driver.notices[-1]


@pytest.mark.parametrize("port", ["", "x", "9" * 40])
def test_an_address_that_is_none_is_refused(ray, port):
    from closecall.ray.cluster import cluster

    with (
        pytest.raises(ConfigurationError, match="no Ray cluster at"),
        cluster(f"127.0.0.1:{port}"),
    ):
        pass


@pytest.mark.parametrize("count", [float("nan"), float("inf"), "1", True, None])
def test_what_a_worker_takes_is_a_number(ray, count):
    from closecall.ray.pool import require_concurrency

    with pytest.raises(UsageError, match="num_cpus"):
        require_concurrency(1, num_cpus=count, num_gpus=0, part_size=None)
