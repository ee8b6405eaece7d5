"""A signal that comes while it is held back is handled right after, once and in full."""

import os
import signal
import threading

import pytest

from closecall.embedders.held_back import held_back

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


def work(done):
    with held_back():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("all of it")


def test_ctrl_c_waits_for_the_end_of_the_block():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = []
    try:
        with pytest.raises(KeyboardInterrupt):
            work(done)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["all of it"]


def test_what_nobody_handles_is_left_as_it_is():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with held_back():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_another_thread_holds_nothing_back():
    seen = []

    def look():
        with held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
