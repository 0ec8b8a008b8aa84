# SPDX-License-Identifier: Apache-2.0
"""Tests that are interrupted, at either end, and what both ends still say."""
import signal
import time

import pytest

from conftest import INCOMPLETE, OK, SLOW, Server, repeats

RUN = 0.5  # seconds that a test runs before the signal
SIGNALS = [signal.SIGINT, signal.SIGTERM]


def check_figures(block, reason):
    """A cut test's figures: not complete, but with what was measured."""
    assert block["complete"] == "0"
    assert reason in block["end_reason"]
    assert RUN < block.float("local_seconds") < 29
    assert RUN < block.float("remote_seconds") < 29
    assert block.float("throughput") > 0


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("flags", [(), ("-M",), ("-r", "-w")])
def test_client_interrupted(number, flags):
    """The client ends within 2 s; both ends report; the server serves on."""
    with Server("--persistent") as s:
        c = s.start_client("-l", "30", "-F", "4", "-T", "2", *flags)
        s.await_traffic()
        time.sleep(RUN)
        asked = time.monotonic()
        c.signal(number)
        assert c.wait() == INCOMPLETE, c.story()
        assert c.ended - asked < 2 * SLOW
        check_figures(c.result, f"interrupted by {number.name}")
        s.await_results()
        assert s.client("-l", "0.2").status == OK
        assert s.finish() == INCOMPLETE
        assert len(s.results) == 2
        check_figures(s.results[0], f"client: interrupted by {number.name}")
        assert s.results[0]["local_rx_bytes"] == c.result["remote_rx_bytes"]
        assert s.results[0]["remote_rx_bytes"] == c.result["local_rx_bytes"]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("flags", [(), ("-M",)])
def test_server_interrupted(number, flags):
    """The server tells its client, which ends within 2 s with figures."""
    with Server("--persistent") as s:
        c = s.start_client("-l", "30", "-F", "4", *flags)
        s.await_traffic()
        time.sleep(RUN)
        asked = time.monotonic()
        s.signal(number)
        assert c.wait() == INCOMPLETE, c.story()
        assert s.wait() == INCOMPLETE, s.story()
        assert max(c.ended, s.ended) - asked < 2 * SLOW
        check_figures(s.result, f"interrupted by {number.name}")
        check_figures(c.result, f"server: interrupted by {number.name}")
        assert s.result["local_rx_bytes"] == c.result["remote_rx_bytes"]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("flags", [(), ("--persistent",)])
def test_idle_server_interrupted(number, flags):
    """An idle server just goes."""
    with Server(*flags) as s:
        assert s.finish(number, 2) == OK, s.story()
        assert not s.results
        assert s.stderr == ""


def test_server_interrupted_after_its_test():
    """A signal right behind the end of a test does not spoil it."""
    for _ in range(repeats(200)):
        with Server("--persistent") as s:
            c = s.start_client("-l", "0.1", "-F", "4")
            c.await_line("^end_reason=")
            assert s.finish() == OK, s.story()
            assert c.wait() == OK, c.story()
            assert s.result["complete"] == "1"
            assert s.stderr == ""


def test_second_signal_ends_at_once():
    """A second signal does not wait for results of a stuck peer."""
    with Server() as s:
        c = s.start_client("-l", "30")
        s.await_traffic()
        s.signal(signal.SIGSTOP)
        c.signal(signal.SIGINT)
        c.await_signals_taken()
        asked = time.monotonic()
        c.signal(signal.SIGINT)
        assert c.wait() == INCOMPLETE
        assert c.ended - asked < 2 * SLOW
