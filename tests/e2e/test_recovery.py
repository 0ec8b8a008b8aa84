# SPDX-License-Identifier: Apache-2.0
"""A server stays available whatever its clients and strangers do."""
import os
import random
import signal
import subprocess
import time

import wire
from conftest import (FAILED, INCOMPLETE, OK, SANITIZED, SLOW, SOAK, Server,
                      repeats, wait_for)


def test_client_vanishes(net):
    """A client that is gone without a word is noticed; the next is served."""
    with Server("--persistent", "--idle-timeout", "3", netns=net.server,
                host=net.server_host()) as s:
        c = s.start_client("-F", "4", "-l", "60", netns=net.client)
        s.await_traffic()
        net.link(up=False)
        cut = time.monotonic()
        c.signal(signal.SIGKILL)
        c.wait()
        s.await_results(1, 10)
        assert time.monotonic() - cut < (3 + 5) * SLOW
        net.link(up=True)
        again = s.client("-l", "1", netns=net.client)
        assert again.status == OK, again.story()
        assert s.finish() == INCOMPLETE
        first, second = s.results
        assert first["complete"] == "0"
        assert "client lost" in first["end_reason"]
        assert first.int("local_rx_bytes") > 0
        assert second["complete"] == "1"


def test_client_killed():
    """Its connections close: the next client is served at once."""
    with Server("--persistent") as s:
        c = s.start_client("-F", "50", "-T", "2", "-l", "30")
        s.await_traffic()
        c.signal(signal.SIGKILL)
        c.wait()
        again = s.client("-l", "1")
        assert again.status == OK, again.story()
        assert s.finish() == INCOMPLETE
        first, second = s.results
        assert first["complete"] == "0"
        assert "client lost" in first["end_reason"]
        assert first.int("local_rx_bytes") > 0
        assert 0 < first.float("local_seconds") < 29
        assert second["complete"] == "1"


def test_clients_one_after_the_other():
    """The server is free as soon as a client has ended."""
    runs = repeats(400)
    with Server("--persistent") as s:
        for i in range(runs):
            c = s.client("-l", "0.05")
            assert c.status == OK, f"run {i}\n{c.story()}"
        assert s.finish() == OK, s.stderr
        assert len(s.results) == runs


def test_idle_strangers():
    """Those that connect and fall silent delay nobody, and are dropped."""
    said = (b"", b"NP", b"NPR1", b"NPR1\0\0\1\0{")
    with Server("--persistent") as s:
        socks = [wire.connect("127.0.0.1", s.control_port) for _ in said]
        data = wire.connect("127.0.0.1", s.port)
        began = time.monotonic()
        for sock, text in zip(socks, said):
            sock.sendall(text)
        c = s.client("-l", "0.5", timeout=10)
        assert c.status == OK, c.story()
        for sock in (*socks, data):
            sock.settimeout(10 * SLOW)
            assert sock.recv(1) == b""
            sock.close()
        assert time.monotonic() - began < 5 + SLOW
        assert s.finish() == OK


def poke(port, how):
    """One visit of a scanner or a health check."""
    try:
        sock = wire.connect("127.0.0.1", port)
        if how == "random":
            sock.sendall(os.urandom(random.randint(1, 5000)))
        if how == "reset":
            wire.reset(sock)
        sock.close()
    except ConnectionError:
        pass  # dropped before all was said


def test_scans_and_garbage():
    """Health checks, port scans and garbage are no errors of the server."""
    with Server("--persistent") as s:
        for how, count in (("close", 200), ("reset", 200), ("random", 50)):
            for port in (s.control_port, s.port):
                for _ in range(count):
                    poke(port, how)
        c = s.client("-l", "1")
        assert c.status == OK, c.story()
        assert s.finish() == OK, s.story()
        assert s.result["complete"] == "1"
        assert s.result.int("invalid_secret_count") > 0
        assert len(s.errors) <= 3, s.stderr


def test_garbage_during_a_test():
    """The same beside a running test, which goes on undisturbed."""
    with Server("--persistent", "--num-ports", "2") as s:
        c = s.start_client("-l", "2", "-F", "4")
        s.await_traffic()
        while c.alive():
            for how in ("close", "reset", "random"):
                poke(s.control_port, how)
                poke(s.port, how)
        assert c.wait() == OK, c.story()
        assert s.finish() == OK, s.story()
        assert s.result["complete"] == "1"


def steady(s):
    return s.fds(), s.threads()


def check_steady(s, before, rss):
    """Back to the descriptors, threads and memory of before."""
    wait_for(lambda: steady(s) == before, 20,
             f"return to {before}, now {steady(s)}")
    # Sanitizers keep freed memory.
    assert SANITIZED or s.rss() <= rss + (2 << 20)


def warm_up(s):
    """Runs that bring the allocator to its size: (fds, threads), rss."""
    for _ in range(3):
        assert s.client("-F", "8", "-T", "2", "-l", "0.1").status == OK
    s.await_quiet()
    return steady(s), s.rss()


def test_nothing_leaks():
    """A third ends well, a third is killed, a third interrupted."""
    with Server("--persistent", "--idle-timeout", "2") as s:
        before, rss = warm_up(s)
        for i in range(repeats(300)):
            c = s.start_client("-F", "8", "-T", "2", "-l",
                               "0.1" if i % 3 == 0 else "30",
                               "--wait-busy", "10")
            if i % 3:
                s.await_traffic()
                c.signal(signal.SIGKILL if i % 3 == 1 else signal.SIGINT)
            status = c.wait()
            assert status == (OK, -signal.SIGKILL, INCOMPLETE)[i % 3], \
                c.story()
        check_steady(s, before, rss)
        assert s.client("-l", "0.1", "--wait-busy", "10").status == OK


def misbehave(s, net, kind):
    """One visit of some kind to a server that must survive it."""
    args = ("-F", "4", "-T", "2", "--wait-busy", "20")
    if kind == "plain":
        c = s.client(*args, "-l", "0.1", netns=net.client)
        assert c.status == OK, c.story()
        return
    if kind in ("garbage", "half-open"):
        text = "'garbage' * 99" if kind == "garbage" else "'NPR1'"
        net.run(net.client, "/usr/bin/python3", "-c",
                "import socket\n"
                f"for port in ({s.control_port}, {s.port}):\n"
                f" c = socket.create_connection(({s.host!r}, port))\n"
                f" c.sendall(({text}).encode())\n")
        return
    c = s.start_client(*args, "-l", "30", "--idle-timeout", "1",
                       netns=net.client)
    s.await_traffic()
    if kind == "blackhole":
        net.link(up=False)
        assert c.wait() == INCOMPLETE, c.story()
        net.link(up=True)
    else:
        c.signal(signal.SIGKILL if kind == "kill" else signal.SIGINT)
        c.wait()


def test_a_long_life(net):
    """After many visits of all kinds the server is what it was."""
    kinds = ["plain", "kill", "interrupt", "garbage", "half-open",
             "blackhole"]
    chosen = random.Random(1)
    with Server("--persistent", "--idle-timeout", "1", netns=net.server,
                host=net.server_host()) as s:
        for _ in range(3):
            misbehave(s, net, "plain")
        s.await_quiet()
        before, rss = steady(s), s.rss()
        for i in range(2000 if SOAK else 20):
            misbehave(s, net, kinds[i % 6] if i < 6 else chosen.choice(kinds))
        for _ in range(20 if SOAK else 3):
            misbehave(s, net, "plain")
        check_steady(s, before, rss)


def start_participant(s, net, i, *args):
    return s.start_client("-F", "10", "-l", "1", *args,
                          netns=net.clients[i], host=net.server_host(i))


def test_three_clients(make_net):
    """They begin together, and their sums are exactly the server's."""
    net = make_net(clients=3)
    with Server("--num-clients", "3", netns=net.server) as s:
        clients = [start_participant(s, net, i) for i in range(3)]
        for c in clients:
            assert c.wait() == OK, c.story()
        assert s.wait() == OK, s.story()
    total = s.result
    assert total["complete"] == "1"
    ours = sum(c.result.int("remote_rx_bytes") for c in clients)
    assert ours == total.int("local_rx_bytes") > 0
    sent = sorted(c.result.int("local_tx_bytes") for c in clients)
    assert sent == sorted(total.int(f"remote_{i}_tx_bytes") for i in range(3))
    # One host has one clock: the starts can be compared directly.
    starts = [c.result.int("local_window_start") for c in clients]
    assert max(starts) - min(starts) < 0.2e9 * SLOW
    assert all(c.result.float("local_seconds") > 0.9 for c in clients)


def test_three_clients_reverse(make_net):
    """The same in the other direction."""
    net = make_net(clients=3)
    with Server("--num-clients", "3", netns=net.server) as s:
        clients = [start_participant(s, net, i, "-M") for i in range(3)]
        for c in clients:
            assert c.wait() == OK, c.story()
        assert s.wait() == OK, s.story()
    sent = sum(c.result.int("remote_tx_bytes") for c in clients)
    assert sent == s.result.int("local_tx_bytes") > 0


def test_third_client_missing(make_net):
    """The other two end with an error in time, and the server serves on."""
    net = make_net(clients=3)
    with Server("--num-clients", "3", "--connect-timeout", "3",
                "--persistent", netns=net.server) as s:
        began = time.monotonic()
        clients = [start_participant(s, net, i) for i in range(2)]
        for c in clients:
            assert c.wait() == FAILED, c.story()
            assert "2 of 3 clients" in c.stderr
            assert c.ended - began < (3 + 3) * SLOW
        clients = [start_participant(s, net, i) for i in range(3)]
        for c in clients:
            assert c.wait() == OK, c.story()
        s.finish()
        assert len(s.results) == 1


def test_one_of_three_dies(make_net):
    """A participant that dies ends the test of all, with figures."""
    net = make_net(clients=3)
    with Server("--num-clients", "3", netns=net.server) as s:
        clients = [start_participant(s, net, i, "-l", "30")
                   for i in range(3)]
        s.await_traffic(1 << 24)
        clients[1].signal(signal.SIGKILL)
        clients[1].wait()
        for c in (clients[0], clients[2]):
            assert c.wait() == INCOMPLETE, c.story()
            assert "client lost" in c.result["end_reason"]
            assert c.result.int("remote_rx_bytes") > 0
        assert s.wait() == INCOMPLETE, s.story()
        assert s.result["complete"] == "0"
        assert s.result.int("local_rx_bytes") > 0


def test_other_options_of_the_second_client(make_net):
    """Participants must agree on the test; the odd one out is told."""
    net = make_net(clients=2)
    with Server("--num-clients", "2", netns=net.server) as s:
        first = start_participant(s, net, 0)
        s.await_connection()
        odd = s.client("-F", "9", "-l", "1", netns=net.clients[1],
                       host=net.server_host(1))
        assert odd.status == FAILED
        assert "--num-flows" in odd.stderr, odd.stderr
        second = start_participant(s, net, 1)
        assert first.wait() == OK, first.story()
        assert second.wait() == OK, second.story()
        assert s.wait() == OK, s.story()


def test_hello_overtakes_an_end():
    """
    A client comes while the end of the test before is not noticed yet: it
    is served, not called too early.
    """
    with Server("--persistent") as s:
        for _ in range(3):
            c = s.start_client("-l", "30")
            s.await_traffic()
            s.signal(signal.SIGSTOP)
            c.signal(signal.SIGKILL)
            c.wait()
            again = s.start_client("-l", "0.2")
            wait_for(lambda: control_connections(s) >= 2, 10, "next client")
            s.signal(signal.SIGCONT)
            assert again.wait() == OK, again.story()
        s.finish()
        assert [r["complete"] for r in s.results] == ["0", "1"] * 3


def control_connections(s):
    """Connections at the control port that sent something unread."""
    text = subprocess.run(["ss", "-HOtn", f"sport = :{s.control_port}"],
                          check=True, capture_output=True, text=True).stdout
    return sum(int(line.split()[1]) > 0 for line in text.splitlines())
