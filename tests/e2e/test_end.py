# SPDX-License-Identifier: Apache-2.0
"""Every test ends in its time, with what was measured, however it ends."""
import os
import re
import signal
import time

import pytest

from conftest import (FAILED, INCOMPLETE, OK, SLOW, Proc, Server, repeats,
                      wait_for)

GRACE = 3  # seconds that a test may take beside its length


def check_end(p, length, status=OK, grace=GRACE):
    """p ended with this status, within its length and some grace."""
    assert p.wait(length + grace + 30) == status, p.story()
    took = p.ended - p.started
    assert took < length + grace * SLOW, f"{took} s\n{p.story()}"


def burn():
    """A process that keeps a CPU busy."""
    return Proc(["/usr/bin/python3", "-c", "while True: pass"])


# ---- a full length ----


def test_reverse_on_a_slow_link(net):
    """Queued data are discarded, not waited for."""
    net.tbf("10mbit", side="server")
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.start_client("-M", "-F", "128", "-l", "5", "--sndbuf", "4M",
                           netns=net.client)
        check_end(c, 5)
        assert s.wait() == OK, s.story()
    for end in (c, s):
        for key in ("local_seconds", "remote_seconds"):
            assert abs(end.result.float(key) - 5) < 0.3 * SLOW
    got = c.result.int("local_rx_bytes") * 8 / c.result.float("local_seconds")
    assert 0 < got <= 10e6
    assert abs(c.result.float("local_throughput") - got) < 0.01 * got


def test_slow_link_is_not_made_fast(net):
    """The headline is what the receiver got, not what was queued."""
    net.tbf("10mbit")
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.start_client("-l", "5", netns=net.client)
        check_end(c, 5)
        assert s.wait() == OK, s.story()
    received = s.result.int("local_rx_bytes")
    assert 0 < received <= s.result.int("remote_tx_bytes")
    for end in (c, s):
        assert 0 < end.result.float("throughput") <= 10.0
    assert c.result["throughput"] == s.result["throughput"]


def test_busy_machine():
    """No run hangs at its last second while both CPUs are taken."""
    runs = repeats(100)
    with burn(), burn(), Server("--persistent") as s:
        for i in range(runs):
            c = s.start_client("-r", "-w", "-F", "16", "-T", "4", "-l", "2")
            check_end(c, 2)
        assert s.finish() == OK, s.stderr
        assert len(s.results) == runs


def test_hundreds_of_threads():
    """Many more threads than CPUs come to their end as well."""
    with Server() as s:
        c = s.start_client("-F", "2000", "-T", "200", "-l", "3")
        check_end(c, 3, grace=5)
        assert s.wait(10) == OK, s.story()
        assert s.result["complete"] == c.result["complete"] == "1"


def test_client_killed_at_the_end():
    """The server does not count past the agreed end."""
    with Server() as s:
        c = s.start_client("-l", "2")
        s.await_traffic()
        time.sleep(1.9)
        c.signal(signal.SIGKILL)
        status = s.wait(10)
        assert status == INCOMPLETE, s.story()
        assert 1 < s.result.float("local_seconds") <= 2 + 0.5 * SLOW
        assert s.result.int("local_rx_bytes") > 0


# ---- a peer that is lost ----


def check_cut(p, who, longest=30.0):
    """Cut short: not complete, but with what this end measured."""
    r = p.result
    assert r["complete"] == "0"
    assert who in r["end_reason"], r["end_reason"]
    assert 0 < r.float("local_seconds") < longest
    assert r.int("local_rx_bytes_total") + r.int("local_tx_bytes_total") > 0


@pytest.mark.parametrize("flags", [(), ("-M",), ("-r", "-w")])
def test_server_killed(flags):
    """The client ends at once with its own figures."""
    with Server() as s:
        c = s.start_client("-l", "30", "-F", "4", *flags)
        s.await_traffic()
        s.signal(signal.SIGKILL)
        s.wait()
        killed = time.monotonic()
        assert c.wait() == INCOMPLETE, c.story()
        assert c.ended - killed < 2 * SLOW
        check_cut(c, "server lost")
        assert c.result["remote_throughput"] == ""


@pytest.mark.parametrize("flags", [(), ("-M",), ("-r", "-w")])
def test_client_killed(flags):
    """So does a server that serves one test."""
    with Server() as s:
        c = s.start_client("-l", "30", "-F", "4", *flags)
        s.await_traffic()
        c.signal(signal.SIGKILL)
        c.wait()
        killed = time.monotonic()
        assert s.wait() == INCOMPLETE, s.story()
        assert s.ended - killed < 2 * SLOW
        check_cut(s, "client lost")


def test_server_stopped():
    """A server that hangs: the client ends at its length and some grace."""
    with Server("--persistent") as s:
        c = s.start_client("-l", "4")
        s.await_traffic()
        s.signal(signal.SIGSTOP)
        check_end(c, 4, INCOMPLETE, grace=10)
        check_cut(c, "time", 4 + SLOW)
        assert any("did not arrive" in w for w in c.result.warnings)
        s.signal(signal.SIGCONT)
        again = s.client("-l", "1", "--wait-busy", "20")
        assert again.status == OK, again.story()
        assert s.finish() == INCOMPLETE
        assert [r["complete"] for r in s.results] == ["0", "1"]


@pytest.mark.parametrize("flags", [(), ("-M",)])
def test_server_stopped_longer(flags):
    """Silence counts as loss within --idle-timeout."""
    with Server() as s:
        c = s.start_client("-l", "60", "--idle-timeout", "2", *flags)
        s.await_traffic()
        s.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        assert c.wait() == INCOMPLETE, c.story()
        assert c.ended - stopped < 2 + 2 * SLOW
        check_cut(c, "server lost")


@pytest.mark.parametrize("flags", [(), ("-M",)])
def test_client_stopped(flags):
    """The same at a server; the client learns of it when it wakes up."""
    with Server("--persistent", "--idle-timeout", "2") as s:
        c = s.start_client("-l", "60", *flags)
        s.await_traffic()
        c.signal(signal.SIGSTOP)
        s.await_results(1, 10)
        again = s.client("-l", "0.5", "--wait-busy", "10")
        assert again.status == OK, again.story()
        c.signal(signal.SIGCONT)
        assert c.wait() == INCOMPLETE, c.story()
        check_cut(c, "server")
        assert s.finish() == INCOMPLETE
        assert "client lost" in s.results[0]["end_reason"]


@pytest.mark.parametrize("flags", [(), ("-M",), ("-r", "-w")])
def test_link_cut(net, flags):
    """Both ends notice, and report what they have."""
    with Server("--idle-timeout", "2", netns=net.server,
                host=net.server_host()) as s:
        c = s.start_client("-l", "60", "--idle-timeout", "2", "-F", "4",
                           *flags, netns=net.client)
        s.await_traffic()
        net.link(up=False)
        cut = time.monotonic()
        assert c.wait() == INCOMPLETE, c.story()
        assert s.wait() == INCOMPLETE, s.story()
        assert max(c.ended, s.ended) - cut < 2 + GRACE * SLOW
        check_cut(c, "server lost")
        check_cut(s, "client lost")


def test_link_cut_for_a_moment(net):
    """A short outage is survived."""
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.start_client("-l", "4", "-F", "4", netns=net.client)
        s.await_traffic()
        net.link(up=False)
        time.sleep(0.5)
        net.link(up=True)
        assert c.wait() == OK, c.story()
        assert s.wait() == OK, s.story()


def test_flows_lost(net):
    """Flows that are reset while the control connection holds."""
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.start_client("-l", "30", "-F", "4", netns=net.client)
        s.await_traffic()
        net.run(net.server, "ss", "-K", "state", "established",
                f"sport = :{s.port}")
        if len(s.sockets()):
            pytest.skip("this kernel cannot destroy sockets")
        for end in (c, s):
            assert end.wait() == INCOMPLETE, end.story()
            assert end.result["complete"] == "0"
        # The end that sees it first tells the other, which then stops.
        assert "4" in (s.result["local_flows_failed"],
                       s.result["remote_flows_failed"])


# ---- the hard limit ----


@pytest.mark.parametrize("who", ["client", "server"])
def test_suicide_length(who):
    """-s ends the run of both ends, with figures, as incomplete."""
    limit = ("-s", "1.5")
    with Server(*(limit if who == "server" else ())) as s:
        c = s.start_client("-l", "30", "-F", "2",
                           *(limit if who == "client" else ()))
        check_end(c, 1.5, INCOMPLETE)
        assert s.wait() == INCOMPLETE, s.story()
    for end in (c, s):
        check_cut(end, "--suicide-length", 3 * SLOW)
        assert end.result.float("local_seconds") > 0.9
        assert end.result.float("remote_seconds") > 0.9
    assert c.result["remote_rx_bytes"] == s.result["local_rx_bytes"]


def test_suicide_length_not_reached():
    """A longer limit changes nothing."""
    with Server("-s", "20") as s:
        c = s.client("-l", "1", "-s", "20")
        assert c.status == OK, c.story()
        assert s.wait() == OK
        assert c.result["complete"] == s.result["complete"] == "1"


def test_suicide_length_before_the_start():
    """The limit also holds while the flows wait for their start."""
    with Server("--num-clients", "2") as s:
        c = s.start_client("-l", "1", "-s", "1")
        assert c.wait() in (FAILED, INCOMPLETE)
        assert c.ended - c.started < 1 + GRACE * SLOW
        assert "--suicide-length" in c.stderr
