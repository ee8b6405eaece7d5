"""Commands killed at random points, and what comes of them; ``benchmarks/reliability.py`` does it
by the hundred.
"""

import os
import signal

import pytest
from trials.victim import Victims

from trials import commands, kills, plug, servers

pytestmark = [
    pytest.mark.loopback,
    pytest.mark.skipif(os.name != "posix", reason="forks and kills as POSIX does"),
]
KILLS = 1


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("kills")


@pytest.fixture
def trial(work, no_network):
    """What runs a command by its name, and kills it."""
    place = work / str(len(list(work.iterdir())))
    with Victims(plug.install(place / "plug")) as victims, servers.running(place) as served:
        known = {one.name: one for one in commands.scenarios(served)}
        yield victims, known, place


def test_what_is_killed_at_random_points_ends_as_if_it_had_not_been(trial):
    victims, known, place = trial
    said = []
    for scenario in list(known.values())[::2]:
        found = kills.tried(victims, scenario, place, seed=10, kills=KILLS)
        said += found.failures
        assert (found.tried, len(found.failures)) == (KILLS, KILLS - found.held)
    assert not said, "\n".join(said)


def test_the_same_command_takes_the_same_steps_and_each_can_be_the_last(trial):
    victims, known, place = trial
    scenario = known["label --export"]
    steps = []
    for at in (0, 1, 2, 3):
        folder = place / f"step{at}"
        folder.mkdir()
        scenario.prepare(folder)
        argv, _ = scenario.argv(folder)
        kill = {"signal": int(signal.SIGKILL), "step": at} if at > 1 else None
        ended = victims.run(argv, folder, kill=kill)
        assert ended.code == (-signal.SIGKILL if at > 1 else 0), ended.err
        steps.append(ended.steps)
        whole = (folder / "out.jsonl").read_text(encoding="utf-8").count("\n")
        assert whole == (1 if at > 1 else 30)
    assert steps[0] == steps[1] > 3


def test_a_check_that_finds_finished_work_gone_says_so(trial):
    victims, known, place = trial
    broken = known["label --export"]._replace(
        name="broken",
        finished=lambda folder: {"out.jsonl": (folder / "out.jsonl").stat().st_mtime_ns},
    )
    found = kills.tried(victims, broken, place, seed=1, kills=1)
    assert found.held == 0
    assert "finished work is gone or changed: out.jsonl" in found.failures[0]
    assert "broken, seed 1, number 0" in found.failures[0]
