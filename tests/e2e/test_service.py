# SPDX-License-Identifier: Apache-2.0
"""What a server serves: how many tests, whose, how large, which way."""
import signal
import time

import pytest

from conftest import (FAILED, INCOMPLETE, OK, SANITIZED, SLOW, USAGE, Proc,
                      Server, program, wait_for)


def test_one_test():
    """By default a server serves one test and ends with its status."""
    with Server() as s:
        c = s.client("-l", "0.5", "-F", "4", "-T", "2")
        assert c.status == OK, c.story()
        assert s.wait() == OK
        assert s.stderr == c.stderr == ""
    for key in ("throughput", "throughput_units", "complete", "fairness",
                "connect_seconds"):
        assert c.result[key] == s.result[key], key
    for key in ("rx_bytes", "tx_bytes", "seconds", "end_reason", "complete"):
        assert c.result[f"local_{key}"] == s.result[f"remote_{key}"], key
        assert c.result[f"remote_{key}"] == s.result[f"local_{key}"], key


def test_options_of_one_test_end_with_it():
    """Nothing that one client asked for holds for the next."""
    with Server("--persistent") as s, Server("--persistent") as fresh:
        odd = s.client("-l", "0.3", "-M", "--tos", "72", "-m", "1M",
                       "--sndbuf", "64K", "--rcvbuf", "64K", "-F", "3",
                       "--mss", "700", cc="reno")
        assert odd.status == OK, odd.story()
        for server in (s, fresh):
            assert server.client("-l", "0.3").status == OK
            server.finish()
    after, first = s.results[-1], fresh.results[-1]
    for end in ("local", "remote"):
        def settings(block):
            return {k: v for k, v in block.items()
                    if k.startswith(f"{end}_setting_")}
        assert settings(after) == settings(first)
        assert "tos" in str(settings(s.results[0]))
    # Paced to 1 MB/s it would have been 8 Mbit/s.
    assert after.float("throughput") > 80


def test_num_tests():
    """The server ends by itself after so many tests."""
    with Server("--num-tests", "3") as s:
        for i in range(3):
            assert s.alive()
            assert s.client("-l", "0.2", "-F", str(i + 1)).status == OK
        assert s.wait() == OK
    assert [r["test"] for r in s.results] == ["1", "2", "3"]


def test_num_tests_ends_with_the_worst_status():
    """One cut test among good ones shows in the status."""
    with Server("--num-tests", "3") as s:
        assert s.client("-l", "0.2").status == OK
        c = s.start_client("-l", "30")
        s.await_traffic()
        c.signal(signal.SIGINT)
        assert c.wait() == INCOMPLETE
        assert s.client("-l", "0.2").status == OK
        assert s.wait() == INCOMPLETE
    assert [r["complete"] for r in s.results] == ["1", "0", "1"]


def test_persistent():
    """A persistent server goes on until a signal."""
    with Server("--persistent") as s:
        for i in range(4):
            assert s.client("-l", "0.2").status == OK
        assert s.alive()
        assert s.finish() == OK
    assert [r["test"] for r in s.results] == ["1", "2", "3", "4"]


# ---- busy ----


def test_busy_is_said_at_once():
    """A second client is refused within a moment; the first goes on."""
    with Server("--persistent") as s:
        first = s.start_client("-l", "3")
        s.await_traffic()
        second = s.client("-l", "1")
        assert second.status == FAILED
        assert second.ended - second.started < 1 * SLOW
        assert "busy" in second.stderr
        assert f"127.0.0.1:{s.control_port}" in second.stderr
        assert len(second.errors) == 1
        assert first.wait() == OK, first.story()
        assert s.finish() == OK
        assert len(s.results) == 1


def test_wait_busy():
    """With --wait-busy it waits for its turn."""
    with Server("--num-tests", "2") as s:
        first = s.start_client("-l", "2")
        s.await_traffic()
        second = s.client("-l", "0.5", "--wait-busy", "20")
        assert second.status == OK, second.story()
        assert first.wait() == OK, first.story()
        assert s.wait() == OK
    assert [r["complete"] for r in s.results] == ["1", "1"]
    assert second.result.int("local_window_start") > \
        first.result.int("local_window_end")


def test_wait_busy_runs_out():
    """It gives up when its patience is over."""
    with Server("--persistent") as s:
        first = s.start_client("-l", "30")
        s.await_traffic()
        second = s.client("-l", "0.5", "--wait-busy", "1")
        assert second.status == FAILED
        assert 1 <= second.ended - second.started < 1 + 2 * SLOW
        assert "busy" in second.stderr
        assert first.alive()


def test_wait_busy_interrupted():
    """A client that waits can be interrupted."""
    with Server("--persistent") as s:
        first = s.start_client("-l", "30")
        s.await_traffic()
        second = s.start_client("-l", "0.5", "--wait-busy", "30")
        second.await_line("^total_run_time=")
        second.signal(signal.SIGINT)
        assert second.wait(5) == FAILED
        assert "SIGINT" in second.stderr
        assert first.alive()


# ---- idle ----


@pytest.mark.parametrize("after", ["start", "test", "killed"])
def test_idle_server_uses_no_cpu(after):
    """Nothing spins while nobody is there."""
    with Server("--persistent") as s:
        threads = s.threads()
        if after != "start":
            c = s.start_client("-F", "4", "-T", "2", "-l",
                               "0.3" if after == "test" else "30")
            s.await_traffic()
            if after == "killed":
                c.signal(signal.SIGKILL)
            c.wait()
            s.await_results()
            s.await_quiet()
        # TSan starts a thread of its own with the first of ours.
        wait_for(lambda: s.threads() <= threads + SANITIZED, 10, "end of the workers")
        before = s.cpu_seconds(), s.switches()
        time.sleep(1.5)  # long enough to see a heartbeat or a spinning loop
        assert s.cpu_seconds() - before[0] <= 0.02 * SLOW
        assert s.switches() - before[1] <= 5 * SLOW


# ---- limits ----


@pytest.mark.parametrize("rule,args,text", [
    (("--max-flows", "4"), ("-F", "5"), "5 flows asked, this server allows 4"),
    (("--max-flows", "4"), ("-F", "3", "--split-bidir"),
     "6 flows asked, this server allows 4"),
    (("--max-seconds", "2"), ("-l", "3"), "3.000 s asked"),
    (("--max-seconds", "2"), ("-l", "1", "--warmup", "1.5"), "2.500 s asked"),
    (("--allow", "10.0.0.0/8,fd00::/8"), (), "127.0.0.1 is not in a network"),
])
def test_refused_by_a_limit(rule, args, text):
    """The client shows what the server does not allow, and which option."""
    with Server("--persistent", *rule) as s:
        c = s.client("-l", "0.2", *args)
        assert c.status == FAILED, c.story()
        assert f"127.0.0.1:{s.control_port} refused: " in c.stderr
        assert text in c.stderr
        assert rule[0] in c.stderr
        assert len(c.errors) == 1
        if rule[0] != "--allow":
            assert s.client("-l", "0.2", "-F", "2").status == OK
        assert s.finish() == OK


def test_allowed():
    """Who keeps to the limits is served."""
    with Server("--allow", "10.0.0.0/8,127.0.0.0/8", "--max-flows", "4",
                "--max-seconds", "2") as s:
        c = s.client("-F", "4", "-l", "0.5", "--warmup", "0.5")
        assert c.status == OK, c.story()
        assert s.wait() == OK


@pytest.mark.parametrize("rule", ["10.0.0.0/33", "nonsense", "", "10.0.0/8,,x"])
def test_bad_network(rule):
    """A network that is none is bad usage or a failure, never ignored."""
    s = Proc([program(), "-C", "0", "-P", "0", "--allow", rule])
    assert s.wait() in (FAILED, USAGE)
    assert "--allow" in s.stderr


# ---- directions ----


@pytest.mark.parametrize("server,client", [
    (("-M",), ()), (("-M",), ("-r",)), (("--split-bidir",), ("-M",)),
    (("-w",), ("-M",)), (("-w",), ("-w",)), (("-r",), ("-M",)),
    (("-r",), ("--split-bidir",)), (("--split-bidir",), ()),
])
def test_direction_contradiction(server, client):
    """Refused, naming both; the server is then free for others."""
    names = {"-M": "--enable-tcp-maerts", "-r": "--enable-read",
             "-w": "--enable-write", "--split-bidir": "--split-bidir"}
    with Server("--persistent", *server) as s:
        c = s.client("-l", "0.2", *client)
        assert c.status == FAILED, c.story()
        assert "direction" in c.stderr
        assert names[server[0]] in c.stderr.partition("started with")[2]
        asked = c.stderr.partition("started with")[0]
        assert (names[client[0]] if client else "client to server") in asked
        fits = {"-w": "-r"}.get(server[0], server[0])
        assert s.client("-l", "0.2", fits).status == OK
        assert s.finish() == OK


@pytest.mark.parametrize("server,client,up,down", [
    ((), (), 1, 0), ((), ("-w",), 1, 0), ((), ("-r",), 1, 1),
    ((), ("-r", "-w"), 1, 1), ((), ("-M",), 0, 1), ((), ("-M", "-w"), 0, 1),
    ((), ("-M", "-r"), 0, 1), ((), ("--split-bidir",), 1, 1),
    (("-w",), ("-r",), 1, 1), (("-r", "-w"), ("-r", "-w"), 1, 1),
    (("-M",), ("-M",), 0, 1), (("-r",), (), 1, 0),
    (("--split-bidir",), ("--split-bidir",), 1, 1),
])
def test_directions(server, client, up, down):
    """Bytes go the ways that were asked for, and no other."""
    with Server(*server) as s:
        c = s.client("-l", "0.3", "-F", "2", *client)
        assert c.status == OK, c.story()
        assert s.wait() == OK
    assert bool(s.result.int("local_rx_bytes_total")) == bool(up)
    assert bool(c.result.int("local_rx_bytes_total")) == bool(down)
    assert bool(c.result.int("local_tx_bytes_total")) == bool(up)
    assert bool(s.result.int("local_tx_bytes_total")) == bool(down)


def test_split_bidir_parity():
    """Even flows go to the server, odd ones come from it."""
    with Server("--verbose") as s:
        c = s.client("-l", "0.3", "-F", "2", "--split-bidir", "--verbose")
        assert c.status == OK, c.story()
        assert s.wait() == OK
    for k in range(4):
        flow = dict(w.split(":") for w in
                    c.result[f"local_flow_{k}"].split() if ":" in w)
        assert (flow["rx_bytes"] == "0") == (k % 2 == 0)
        assert (flow["tx_bytes"] == "0") == (k % 2 == 1)
