"""Blocks over workers: each done once, whatever happens to the worker that has it."""

import os
import signal

import pytest

from closecall.errors import ConfigurationError, UsageError

pytestmark = [pytest.mark.loopback, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def blocks(ray):
    from closecall.ray import blocks

    return blocks


@pytest.fixture
def over(blocks):
    """Run 8 blocks of 10 cases with what is done in one of them; return those done and notices."""

    def run(at_30, load=lambda: None, **options):
        class Task:
            def load(self):
                load()

            def do(self, block):
                if block.first == 30:
                    at_30()
                return blocks.Done(block, f"part {block.first}", block.stop - block.first, "0f")

        done, told = [], []
        asked = {"concurrency": 2, "num_cpus": 1, "num_gpus": 0, "on_notice": told.append}
        error = None
        try:
            blocks.run_blocks(Task(), eight(blocks), done.append, **asked | options)
        except Exception as raised:  # noqa: BLE001 - looked at below
            error = raised
        return sorted(done), told, error

    return run


def eight(blocks):
    return [blocks.Block(first, first + 10) for first in range(0, 80, 10)]


def test_every_block_is_done_once_and_told(over, blocks):
    done, told, error = over(lambda: None)
    assert error is None
    assert [one.block for one in done] == eight(blocks)
    assert done[3] == blocks.Done(blocks.Block(30, 40), "part 30", 10, "0f")
    assert told == []


def test_a_worker_killed_half_way_costs_nothing_but_time(over, blocks, tmp_path):
    mark = tmp_path / "killed"

    def once():
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    done, told, error = over(once)
    assert mark.exists()
    assert error is None
    assert [one.block for one in done] == eight(blocks)
    assert told == ["a worker died; cases 31 to 40 (positions 30 to 39) were done again"]


def test_a_block_that_kills_every_worker_ends_the_run_and_is_named_and_ray_says_nothing(
    over, blocks, tmp_path, capfd
):
    tries = tmp_path / "tries"

    def always():
        with tries.open("a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)

    done, _, error = over(always)
    assert type(error) is ConfigurationError
    assert str(error).startswith("cases 31 to 40 (positions 30 to 39): the worker that had them")
    assert len(tries.read_text()) == blocks.TRIES
    assert blocks.Block(30, 40) not in [one.block for one in done]
    shown = capfd.readouterr()  # nothing of Ray's comes between a report and its reader
    assert (shown.out, shown.err) == ("", "")


def test_an_error_comes_back_in_its_own_words_and_at_once(over):
    def wrong():
        raise UsageError("there is no model of that name")

    done, _, error = over(wrong)
    assert type(error) is UsageError
    assert str(error) == "there is no model of that name"
    assert len(done) < 8


def test_an_error_that_is_nobodys_says_where_it_was(over):
    def wrong():
        raise ZeroDivisionError("division by zero")

    _, _, error = over(wrong)
    assert type(error) is ConfigurationError
    told = "cases 31 to 40 (positions 30 to 39): ZeroDivisionError: division by zero"
    assert str(error) == told


def test_an_error_while_loading_is_told_and_not_tried_again(over, tmp_path):
    tries = tmp_path / "tries"

    def load():
        with tries.open("a") as file:
            file.write("x")
        raise ConfigurationError("the model is not on this machine")

    done, _, error = over(lambda: None, load)
    assert str(error) == "the model is not on this machine"
    assert done == []
    assert len(tries.read_text()) <= 8


def test_workers_that_die_while_loading_are_not_started_without_end(over):
    def load():
        os.kill(os.getpid(), signal.SIGKILL)

    done, _, error = over(lambda: None, load)
    assert type(error) is ConfigurationError
    assert "died 4 times while they loaded the embedder" in str(error)
    assert done == []


def test_more_workers_than_there_is_room_for_are_refused(over):
    _, _, error = over(lambda: None, concurrency=50)
    assert type(error) is ConfigurationError
    assert "which is room for 2 workers of 1 CPUs and 0 GPUs; 50 were asked for" in str(error)
    _, _, error = over(lambda: None, num_gpus=1)
    assert "room for 0 workers of 1 CPUs and 1 GPUs" in str(error)
