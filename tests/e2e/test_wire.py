# SPDX-License-Identifier: Apache-2.0
"""The printed window against the interface's own counters.

Both ends run in namespaces of one host, so the printed edges of a window and
the samples of an interface are on one clock. With the offloads off each packet
carries 66 bytes of headers. What is left of the counters between the two edges
must be what the receiver says it received; no queue on the way drops anything,
so that segments sent twice came twice and are told from the rest.
"""
import contextlib
import pathlib
import random
import signal
import sys
import time

import pytest

import sampler
from conftest import (INCOMPLETE, OK, SANITIZED, SLOW, SOAK, Proc, Server,
                      needs)

# Between the counter and the reader are queues. They are kept small against
# the bytes of a window.
QUEUES = ("--rcvbuf", "64K", "--sndbuf", "128K")
COMMON = ("-F", "4", *QUEUES)
# What four receive queues may hold (the kernel doubles SO_RCVBUF), bytes.
QUEUED = 4 * 2 * 64 * 1024
WAYS = {"forward": (), "maerts": ("-M",), "both": ("-r", "-w")}
MODES = {"copy": (), "zerocopy": ("-Z",), "discard": ("--skip-rx-copy",)}
RATE = "400mbit"

# A sampler that was held off around an edge cannot tell what passed it.
ATTEMPTS = 5


def wire(net, limited):
    """Make counters exact, and the path slow where that is asked."""
    needs("ethtool", "tc")
    for ns, dev in ((net.server, "s0"), (net.client, "c0")):
        net.run(ns, "ethtool", "-K", dev, "tso", "off", "gso", "off",
                "gro", "off")
    if limited:
        for side in ("client", "server"):
            net.tbf(RATE, limit="4m", burst="64k", side=side)


@contextlib.contextmanager
def sampling(net):
    """Samplers at both ends; their samples are there afterwards."""
    samples = {}
    script = pathlib.Path(sampler.__file__)
    with contextlib.ExitStack() as stack:
        running = {}
        for end, ns, dev in (("server", net.server, "s0"),
                             ("client", net.client, "c0")):
            p = Proc([sys.executable, script, dev], netns=ns)
            stack.enter_context(p)
            p.await_line("^ready$")
            running[end] = p
        yield samples
        for end, p in running.items():
            p.signal(signal.SIGTERM)
            assert p.wait() == 0, p.story()
            samples[end] = sampler.Samples(p.lines)


def compare(samples, end, result):
    """Is the window within 0.5 % of the wire? None: the samples cannot tell."""
    start, stop = (result.int(f"local_window_{k}") for k in ("start", "end"))
    other = "client" if end == "server" else "server"
    expected, doubt = sampler.received(samples[end], samples[other], start,
                                       stop)
    got = result.int("local_rx_bytes")
    if doubt > 0.0025 * got:
        return None
    off = abs(got - expected)
    if 0.005 * got < off <= QUEUED:
        return None  # a busy machine moved too few bytes for its queues
    assert off <= 0.005 * got, (
        f"{end}: {got} bytes received, {expected:.0f} on the wire "
        f"({100 * (got / expected - 1):+.3f} %, uncertain by {doubt})")
    return True


def until_told(attempt):
    """Repeat an attempt until the samples could tell."""
    for _ in range(ATTEMPTS):
        if attempt():
            return
    pytest.skip("the machine is too busy to sample an interface")


def receivers(way):
    return {"forward": ["server"], "maerts": ["client"],
            "both": ["server", "client"]}[way]


def compare_run(net, way, *args, seconds=1.5):
    """Run to the end; what each receiver says is on the wire."""
    def attempt():
        with sampling(net) as samples, \
                Server(netns=net.server, host=net.server_host()) as s:
            c = s.client("-l", f"{seconds * SLOW}", "--warmup", "0.3", *args,
                         netns=net.client)
            assert c.status == OK, c.story()
            assert s.wait() == OK, s.story()
        results = {"server": s.result, "client": c.result}
        return all(compare(samples, end, results[end])
                   for end in receivers(way))

    until_told(attempt)


@pytest.mark.parametrize("limited", [True] if SANITIZED else [True, False],
                         ids=lambda on: "tbf" if on else "open")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_window_is_what_the_wire_carried(net, way, mode, limited):
    wire(net, limited)
    compare_run(net, way, *COMMON, *WAYS[way], *MODES[mode],
                seconds=3 if limited else 1.5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_window_of_a_flow_alone(net, way, mode):
    """One flow a worker is served by other code, and judged the same."""
    wire(net, limited=True)
    compare_run(net, way, "-F", "2", "-T", "2", *QUEUES, *WAYS[way],
                *MODES[mode])


@pytest.mark.parametrize("limited", [True, False] if SOAK else [False],
                         ids=lambda on: "tbf" if on else "open")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way, killed", [
    ("forward", "client"), ("maerts", "server"), ("both", "client"),
    ("both", "server")])
def test_window_of_a_survivor(net, way, killed, mode, limited):
    """One end is killed: what the other says it received did arrive."""
    wire(net, limited)

    def attempt():
        with sampling(net) as samples, \
                Server(netns=net.server, host=net.server_host()) as s:
            c = s.start_client("-l", "60", *COMMON, *WAYS[way], *MODES[mode],
                               netns=net.client)
            s.await_traffic()
            # Any instant will do: the point is that none is special.
            time.sleep(random.uniform(1, 2))
            victim, survivor = (c, s) if killed == "client" else (s, c)
            victim.signal(signal.SIGKILL)
            assert survivor.wait(20) == INCOMPLETE, survivor.story()
        result = survivor.result
        assert result["complete"] == "0"
        assert 0.5 < result.float("local_seconds") < 25 * SLOW
        end = "server" if killed == "client" else "client"
        return compare(samples, end, result)

    until_told(attempt)


@pytest.mark.parametrize("way", WAYS)
def test_bytes_stay_below_the_interface(net, way):
    """With the offloads on, payload is 90 to 100 % of what is counted."""
    links = {"server": (net.server, "s0"), "client": (net.client, "c0")}

    def counters():
        """Bytes received by each end, and bytes that each sent again."""
        out = {}
        for end, (ns, dev) in links.items():
            came = net.run(ns, "cat", f"/sys/class/net/{dev}/statistics/"
                           "rx_bytes")
            names, values = [line.split() for line in
                             net.run(ns, "cat", "/proc/net/snmp").splitlines()
                             if line.startswith("Tcp:")]
            again = int(values[names.index("RetransSegs")])
            out[end] = (int(came), sampler.SEGMENT * again)
        return out

    before = counters()
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.client("-l", "1", "-F", "4", *WAYS[way], netns=net.client)
        assert c.status == OK, c.story()
        assert s.wait() == OK
    after = counters()
    results = {"server": s.result, "client": c.result}
    for end in receivers(way):
        other = "client" if end == "server" else "server"
        passed = after[end][0] - before[end][0]
        again = after[other][1] - before[other][1]
        total = results[end].int("local_rx_bytes_total")
        assert 0.9 * passed < total + again
        assert total < passed
        assert results[end].int("local_rx_bytes") <= total
