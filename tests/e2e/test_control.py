# SPDX-License-Identifier: Apache-2.0
"""The control connection: foreign peers, connect errors, delays, relays."""
import re
import signal
import time

import pytest

import wire
from conftest import (FAILED, OK, SLOW, Proc, Server,
                      needs_strace, program, repeats, wait_for)


def run_client(port, *args, netns=None, host="127.0.0.1", wrap=(),
               timeout=30):
    """A client without a server of ours: the ended process."""
    cc = "reno" if netns else "cubic"
    c = Proc([*wrap, program(), "-c", "-H", host, "-C", port,
              "--congestion-control", cc, "-l", "1", *args], netns=netns)
    c.status = c.wait(timeout)
    return c


@pytest.mark.parametrize("banner", [b"SSH-2.0-OpenSSH_9.2p1\r\n",
                                    b"HTTP/1.1 400 Bad Request\r\n\r\n",
                                    b"\0\0\0\0", b"NPR2\0\0\0\2{}"])
def test_foreign_service(banner):
    """A port of some other service is called that."""
    with wire.Fake(lambda sock: sock.sendall(banner)) as fake:
        c = run_client(fake.port)
    assert c.status == FAILED
    assert "peer is not a tcp_stream server" in c.stderr
    assert f"127.0.0.1:{fake.port}" in c.stderr
    assert len(c.errors) == 1


def test_mute_service():
    """A peer that says nothing ends in a timeout that names it."""
    with wire.Fake(lambda sock: None) as fake:
        began = time.monotonic()
        c = run_client(fake.port, "--connect-timeout", "2")
    assert c.status == FAILED
    assert 1.9 < c.ended - began < 2 + 2 * SLOW
    assert f"127.0.0.1:{fake.port}" in c.stderr
    assert "timed out" in c.stderr


@pytest.mark.parametrize("reads", [True, False])
def test_closing_service(reads):
    """A peer that accepts and closes; with bytes unread that is a reset."""
    def handle(sock):
        if reads:
            wire.read_frame(sock)
        sock.close()

    with wire.Fake(handle) as fake:
        c = run_client(fake.port)
    assert c.status == FAILED
    assert f"127.0.0.1:{fake.port}" in c.stderr
    assert "(during the handshake)" in c.stderr
    if reads:
        assert "closed the control connection" in c.stderr


def test_client_of_another_version():
    """The refusal names both versions; the server stays up."""
    with Server("--persistent") as s:
        hello = wire.capture_hello(run_client)
        hello["version_min"] = hello["version_max"] = 77
        sock = wire.connect("127.0.0.1", s.control_port)
        sock.sendall(wire.frame(hello))
        answer = wire.read_frame(sock)
        sock.close()
        assert answer["type"] == "refuse"
        assert "77" in answer["text"] and "version 1" in answer["text"]
        assert s.client("-l", "0.2").status == OK
        assert s.finish() == OK


def test_server_of_another_version():
    """A server that accepts with a version that was not offered."""
    hello = {}

    def handle(sock):
        hello.update(wire.read_frame(sock))
        sock.sendall(wire.frame(
            {"type": "accept", "version": 77, "boot_id": "", "host": "fake",
             "engine": "epoll", "participant": 0, "participants": 1,
             "cookie": "00" * 16, "backlog": 128, "data_ports": [1],
             "options": []}))
        wire.read_frame(sock)

    with wire.Fake(handle) as fake:
        c = run_client(fake.port)
    assert c.status == FAILED
    assert re.search(r"version.*\b77\b", c.stderr), c.stderr
    assert str(hello["version_max"]) in c.stderr


def test_client_of_another_kind():
    """A tcp_rr client and a tcp_stream server: the refusal names both."""
    with Server("--persistent") as s:
        hello = wire.capture_hello(run_client)
        hello["program"] = "tcp_rr"
        sock = wire.connect("127.0.0.1", s.control_port)
        sock.sendall(wire.frame(hello))
        answer = wire.read_frame(sock)
        sock.close()
        assert answer["type"] == "refuse"
        assert "tcp_rr" in answer["text"] and "tcp_stream" in answer["text"]
        assert s.client("-l", "0.2").status == OK
        assert s.finish() == OK


def test_refusal_is_shown_as_it_is():
    """Another kind of server: its words reach the user."""
    def handle(sock):
        wire.read_frame(sock)
        sock.sendall(wire.frame(
            {"type": "refuse", "code": 3, "program": "tcp_rr",
             "text": "the client is tcp_stream, this server is tcp_rr"}))

    with wire.Fake(handle) as fake:
        c = run_client(fake.port)
    assert c.status == FAILED
    assert "the client is tcp_stream, this server is tcp_rr" in c.stderr


# ---- connect errors ----


def strace_wrap(path, calls="connect,bind"):
    return ["strace", "-f", "-o", path, "-s", "200000", "-e",
            f"trace={calls}"]


def test_closed_port():
    """Only refusal is retried, until the limit, in silence."""
    sock = wire.socket.create_server(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    sock.close()
    began = time.monotonic()
    c = run_client(port, "--connect-timeout", "1")
    assert c.status == FAILED
    assert c.ended - began > 0.9
    assert c.stderr == (f"tcp_stream: cannot connect to 127.0.0.1:{port}: "
                        "Connection refused")


def test_server_that_comes_later():
    """A client may be started before its server."""
    sock = wire.socket.create_server(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    sock.close()
    c = Proc([program(), "-c", "-H", "127.0.0.1", "-C", port, "-l", "0.2",
              "--congestion-control", "cubic"])
    c.await_line("^total_run_time=")
    with Server(ports=("-C", str(port), "-P", "0")) as s:
        assert c.wait() == OK, c.story()
        assert c.stderr == ""
        assert s.wait() == OK


UNREACHED = {
    "route": ("198.51.100.1", "Network is unreachable", "ENETUNREACH"),
    "host": ("10.77.0.9", "No route to host", "EHOSTUNREACH"),
    "blackhole": ("10.77.0.1", "Connection timed out", "EINPROGRESS"),
}


@pytest.mark.parametrize("kind", UNREACHED)
def test_unreachable(net, tmp_path, kind):
    """The text is that of the true cause, as the kernel gave it."""
    needs_strace()
    host, text, name = UNREACHED[kind]
    if kind == "blackhole":
        net.ip("route", "add", "blackhole", "10.77.0.2/32", ns=net.server)
    trace = tmp_path / "trace"
    # An unanswered neighbour is given up after 3 s.
    c = run_client(9, "--connect-timeout",
                   "2" if kind == "blackhole" else "20", netns=net.client,
                   host=host, wrap=strace_wrap(trace, "connect,getsockopt"))
    assert c.status == FAILED
    assert c.stderr == f"tcp_stream: cannot connect to {host}:9: {text}"
    assert name in trace.read_text()


@pytest.mark.parametrize("option", ["-C", "-P"])
def test_privileged_port(net, option):
    """A port below 1024 without the right to it."""
    ports = {"-C": "0", "-P": "0", option: "80"}
    s = Proc(["setpriv", "--bounding-set=-net_bind_service", program(),
              *sum(ports.items(), ())], netns=net.server)
    assert s.wait() == FAILED
    assert "80" in s.stderr and "Permission denied" in s.stderr
    assert len(s.errors) == 1


def test_port_in_use():
    """The message names the port."""
    with Server() as s:
        for ports in (("-C", s.control_port, "-P", "0"),
                      ("-C", "0", "-P", s.port)):
            other = Proc([program(), *ports])
            assert other.wait() == FAILED
            assert str(max(map(int, ports[1::2]))) in other.stderr
            assert "in use" in other.stderr


def test_unknown_name():
    c = run_client(9, host="no-such-host.invalid")
    assert c.status == FAILED
    assert "no-such-host.invalid" in c.stderr


# ---- delays ----


def test_wait_start():
    """A client that begins late is waited for."""
    with Server() as s:
        began = time.monotonic()
        c = s.client("--wait-start", "3", "-l", "1")
        assert c.status == OK, c.story()
        assert c.ended - began > 3.9
        assert s.wait() == OK


def test_wait_start_beyond_the_idle_limit():
    """Longer than --idle-timeout is fine too: both sides show life."""
    with Server("--idle-timeout", "2") as s:
        c = s.client("--wait-start", "4", "-l", "0.5", "--idle-timeout", "2")
        assert c.status == OK, c.story()
        assert s.wait() == OK


def test_client_stopped_before_its_flows():
    """Stopped between the agreement and its flows: an error at both ends."""
    with Server("--persistent", "--idle-timeout", "2") as s:
        c = s.start_client("--wait-start", "1", "-l", "30", "-F", "4")
        wait_for(lambda: c.threads() > 1, 10, "agreement")
        c.signal(signal.SIGSTOP)
        again = s.client("-l", "0.5", "--wait-busy", "10")
        assert again.status == OK, again.story()
        c.signal(signal.SIGCONT)
        assert c.wait() == FAILED, c.story()
        assert "server" in c.stderr or "lost" in c.stderr, c.stderr
        s.finish()
        assert any("called off: client" in line for line in s.lines), s.story()


# ---- ends ----


@pytest.mark.parametrize("flags", [(), ("-r", "-w")])
def test_no_early_close(flags):
    """Many short runs of several flows: the control connection holds."""
    runs = repeats(50 if flags else 200)
    with Server("--persistent") as s:
        for i in range(runs):
            c = s.client("-F", "8", "-T", "4", "-l", "1", *flags)
            assert c.status == OK, f"run {i}\n{c.story()}"
            assert c.stderr == ""
        assert s.finish() == OK, s.stderr
        assert [r["complete"] for r in s.results] == ["1"] * runs


@pytest.mark.parametrize("flags", [(), ("-M",), ("-r",)])
def test_relay_that_tears_down_at_a_reset(flags):
    """Results survive a relay that drops all at the first reset."""
    with Server() as s, wire.Relay(s.control_port, s.port) as relay:
        c = s.client("-F", "4", "-l", "1", "-P", relay.ports[1], *flags,
                     control_port=relay.ports[0])
        assert c.status == OK, c.story()
        assert s.wait() == OK, s.story()
        for end in (c, s):
            assert end.result["complete"] == "1"
            assert end.result.float("remote_seconds") > 0.5
        assert c.result["local_rx_bytes"] == s.result["remote_rx_bytes"]
        assert c.result["remote_rx_bytes"] == s.result["local_rx_bytes"]


@pytest.mark.parametrize("who", ["client", "server"])
def test_results_before_resets(tmp_path, who):
    """No data socket is closed before the last control message."""
    needs_strace()
    trace = tmp_path / "trace"
    wrap = strace_wrap(trace, "sendto,recvfrom,setsockopt,shutdown,close")
    with Server() as s:
        if who == "server":
            tracer = Proc([*wrap, "-p", s.pid])
            tracer.await_line("attached", errors=True)
        c = s.client("-F", "3", "-l", "0.3", wrap=wrap if who == "client"
                     else ())
        assert c.status == OK, c.story()
        assert s.wait() == OK
        if who == "server":
            tracer.wait()
    lines = trace.read_text().splitlines()
    main = lines[0].split()[0]  # flows belong to the other threads
    said = [i for i, line in enumerate(lines) if '\\"result\\"' in line or
            '\\"bye\\"' in line]
    closed = [i for i, line in enumerate(lines)
              if re.match(r"(?!%s\b)\d+ +close\(" % main, line)]
    assert '\\"bye\\"' in lines[said[-1]]
    assert len(closed) >= 3
    assert said[-1] < closed[0]


def test_connects_under_syn_loss(net):
    """Hundreds of connects go on in parallel while SYNs are lost."""
    net.tbf("1mbit", limit="4k", burst="2k")
    with Server("--connect-timeout", "60", netns=net.server,
                host=net.server_host()) as s:
        c = s.client("-F", "500", "-T", "2", "-l", "2",
                     "--connect-timeout", "60", netns=net.client,
                     timeout=100)
        assert c.status == OK, c.story()
        assert s.wait() == OK, s.story()
    r = c.result
    assert r.int("syn_retransmits") > 0
    assert 0 < r.float("connect_p50") <= r.float("connect_p99") \
        <= r.float("connect_max") <= r.float("connect_seconds") < 60
    # In turn they would have taken the sum of their times.
    assert r.float("connect_seconds") < 500 * r.float("connect_p50")
    # The clock starts only when all flows are up.
    assert abs(r.float("local_seconds") - 2) < 0.5 * SLOW
