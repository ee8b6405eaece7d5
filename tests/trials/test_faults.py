"""Machines that fail; ``benchmarks/reliability.py`` tries every command on each of them."""

import os

import pytest
from trials.victim import Victims

from trials import commands, faults, faults_more, plug, servers

pytestmark = [
    pytest.mark.loopback,
    pytest.mark.skipif(os.name != "posix", reason="takes things away as POSIX does"),
]
NAMES = ("eval into a run folder", "calibrate over an older file", "index add", "label")
SMALL = ("an embedder without memory",)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    place = tmp_path_factory.mktemp("faults")
    for above in (place, *place.parents):  # another user is to come in
        if above.stat().st_uid == os.geteuid() and above.name.startswith("pytest-"):
            above.chmod(0o755)
    place.chmod(0o755)
    return place


def test_every_fault_is_coped_with_or_told_and_costs_nothing(work, no_network):
    plugged = plug.install(work / "plug")
    failures = []
    with (
        Victims(plugged) as victims,
        Victims(plugged) as others,
        servers.running(work) as served,
    ):
        known = [one for one in commands.scenarios(served) if one.name in NAMES]
        ready = [faults.ready_for(victims, scenario, work / "sound") for scenario in known]
        assert len(ready) == len(NAMES)
        for at, fault in enumerate(faults.FAULTS):
            # Two commands meet each fault here, and each command half of the faults.
            some = [ready[at % 4], ready[(at + 1) % 4]]
            failures += faults.against(fault, some, victims, work, seed=10).failures
        failures += faults.at_once(ready, victims, others, work, lambda _: None).failures
    assert not failures, "\n".join(failures)


def test_an_embedder_without_memory(work, no_network):
    rows = faults_more.run(
        work / "more", plug.install(work / "more-plug"), scale=0.02, say=lambda _: None, only=SMALL
    )
    assert [row.what for row in rows] == [f"fault: {name}" for name in SMALL]
    assert not [line for row in rows for line in row.failures]
