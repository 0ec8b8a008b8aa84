# SPDX-License-Identifier: Apache-2.0
"""Ports that are taken, fixed or forbidden; relays, strangers, devices."""
import os
import random
import re
import socket
import subprocess
import time

import pytest

from conftest import FAILED, OK, SLOW, USAGE, Proc, Server, needs, program
from test_figures import both, per
from test_flows import Relay


def test_control_and_data_through_relays_of_different_addresses():
    """Flows belong to a test by its cookie, never by the peer's address."""
    with Server() as s:
        data = Relay(("127.0.0.1", s.port), source="127.0.0.2")
        control = Relay(("127.0.0.1", s.control_port), source="127.0.0.1")
        try:
            c = s.client("-F", "8", "-l", "0.5", "-P", data.port,
                         control_port=control.port)
            assert c.status == OK, c.story()
            assert s.wait() == OK, s.story()
            assert len(data.pairs) == 8
        finally:
            data.close()
            control.close()
    assert s.result.int("local_rx_bytes") > 0


def test_strangers_take_no_flows_place():
    """Connections without the cookie are dropped and counted."""
    with Server() as s:
        c = s.start_client("-F", "8", "-l", "0.5", "--wait-start", "0.5")
        strangers = []
        for text in (b"", b"x", os.urandom(32), b"GET / HTTP/1.0\r\n\r\n",
                     os.urandom(4096)) * 4:
            at = socket.create_connection(("127.0.0.1", s.port))
            if text:
                at.sendall(text)
            strangers.append(at)
        assert c.wait() == OK, c.story()
        assert s.wait() == OK, s.story()
        for at in strangers:
            at.close()
    assert s.result.int("local_flows_failed") == 0
    assert s.result.int("invalid_secret_count") >= 16


# ---- taken and forbidden ports ----

@pytest.mark.parametrize("option", ["-C", "-P"])
def test_port_of_another_server(option):
    with Server() as s:
        taken = s.control_port if option == "-C" else s.port
        other = "-P" if option == "-C" else "-C"
        with Proc([program(), option, taken, other, "0"]) as p:
            assert p.wait() == FAILED, p.story()
            assert p.ended - p.started < 1 * SLOW
            assert str(taken) in p.stderr
            assert "Address already in use" in p.stderr
            assert not p.lines  # not half started
        assert s.client("-l", "0.2").status == OK


def test_port_of_a_connection():
    """Even a client's own source port can be in the way."""
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.create_connection(listener.getsockname()) as c:
        taken = c.getsockname()[1]
        with Proc([program(), "-H", "127.0.0.1", "-C", taken, "-P", "0"]) as p:
            assert p.wait() == FAILED, p.story()
            assert str(taken) in p.stderr
            assert "Address already in use" in p.stderr


@pytest.mark.parametrize("option", ["-C", "-P"])
def test_privileged_port(option):
    needs("setpriv")
    user = ["setpriv", "--reuid", "65534", "--regid", "65534",
            "--clear-groups", "--bounding-set", "-all", "--inh-caps", "-all"]
    if subprocess.run([*user, "true"], check=False).returncode:
        pytest.skip("cannot become another user")
    other = "-P" if option == "-C" else "-C"
    with Proc([*user, program(), option, "80", other, "0"]) as p:
        assert p.wait() == FAILED, p.story()
        assert "80" in p.stderr and "Permission denied" in p.stderr


@pytest.mark.parametrize("args", [
    ("-c", "-H", "127.0.0.1", "-P", "0"), ("-c", "-H", "127.0.0.1", "-C", "0"),
    ("-c", "-H", "127.0.0.1", "--source-port", "65534", "-F", "4"),
    ("-c", "-H", "127.0.0.1", "--source-port", "65532", "-F", "4",
     "--split-bidir"),
    ("-c", "-H", "127.0.0.1", "--source-port", "0"),
    ("-P", "65535", "--num-ports", "2"),
    ("-c", "-H", "127.0.0.1", "--bind-dev", "nosuch0"),
    ("--bind-dev", "nosuch0")], ids=" ".join)
def test_impossible_ports_are_usage_errors(args):
    with Proc([program(), *args]) as p:
        assert p.wait(5) == USAGE, p.story()
        option = next(a for a in reversed(args) if a.startswith("--") or
                      a in ("-P", "-C"))
        names = {"-P": "port", "-C": "control-port",
                 "--split-bidir": "split-bidir"}
        assert names.get(option, option) in p.stderr


# ---- fixed source ports ----

def free_block(n):
    """First of n source ports that nobody uses, below the ephemeral ones."""
    while True:
        base = random.randrange(20000, 30000)
        try:
            for port in range(base, base + n):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
            return base
        except OSError:
            continue


@pytest.mark.parametrize("way", [(), ("-r", "-w"), ("-M",),
                                 ("--split-bidir",)])
def test_fixed_source_ports(way):
    """Flow i leaves from port N + i, and again at once."""
    flows = 8 if "--split-bidir" in way else 4
    base = free_block(flows)
    for _ in range(3):
        server, client = both("--source-port", base, "-F", "4", "-l", "0.2",
                              "--verbose", *way, server=["--verbose"])
        expected = [str(base + i) for i in range(flows)]
        assert [f["local_port"] for f in per(client, "flow")] == expected
        assert [f["peer_port"] for f in per(server, "flow")] == expected


def test_several_data_ports():
    """Flow i uses data port i mod N, each found on its own."""
    with Server("--num-ports", "3", "--verbose") as s:
        c = s.client("-F", "7", "--num-ports", "3", "-l", "0.2", "--verbose")
        assert c.status == OK, c.story()
        assert s.wait() == OK
    ports = [f["peer_port"] for f in per(c.result, "flow")]
    assert len(set(ports)) == 3
    assert ports == (ports[:3] * 3)[:7]
    assert int(ports[0]) == s.port


# ---- devices ----

def test_bind_dev(net):
    """Two links reach the same network: bytes pass the one asked for."""
    net.ip("link", "add", "s1", "netns", net.server, "type", "veth",
           "peer", "name", "c1", "netns", net.client)
    for ns, dev, host in ((net.server, "s1", 3), (net.client, "c1", 4)):
        net.run(ns, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0",
                "net.ipv4.conf.default.rp_filter=0")
        net.ip("addr", "add", f"10.77.0.{host}/24", "dev", dev, ns=ns)
        net.ip("link", "set", dev, "up", ns=ns)

    def moved(dev):
        return sum(int(net.run(net.client, "cat", f"/sys/class/net/{dev}/"
                               f"statistics/{way}_bytes"))
                   for way in ("rx", "tx"))

    before = {dev: moved(dev) for dev in ("c0", "c1")}
    server, client = both("--bind-dev", "c1", "-F", "8", "-l", "0.5", "-r",
                          "-w", netns=net, server=["--bind-dev", "s1"])
    assert moved("c1") - before["c1"] > client.int("local_rx_bytes") + \
        server.int("local_rx_bytes")
    # The control connection is not bound; its few bytes go the short way.
    assert moved("c0") - before["c0"] < 200_000


# ---- options ----

# Options that say what is printed instead, or who this is.
NOT_DUMPED = {"help", "version", "dry-run", "plan", "client"}


def dump(*args):
    """Options as a dry run prints them."""
    with Proc([program(), "-n", *args]) as p:
        status = p.wait()
        return status, dict(p.options), p.stderr


def test_help_lists_each_option_once():
    with Proc([program(), "--help"]) as p:
        assert p.wait() == OK
    heads = [line for line in p.lines if re.match(r"  (-\w, )?--", line)]
    long = [re.search(r"--([a-z0-9-]+)", line)[1] for line in heads]
    short = [m[1] for line in heads
             if (m := re.match(r" +-([A-Za-z0-9]),", line))]
    assert len(long) > 60
    assert len(set(long)) == len(long)
    assert len(set(short)) == len(short)


def test_each_switch_sets_its_own_key():
    with Proc([program(), "--help"]) as p:
        assert p.wait() == OK
    text = "\n".join(p.lines)
    status, plain, _ = dump()
    assert status == OK
    tried = 0
    for m in re.finditer(r"^  (?:-(\w), )?--([a-z0-9-]+)\n(.*)$", text, re.M):
        letter, name, purpose = m.groups()
        if "not available yet" in purpose or name in NOT_DUMPED:
            continue
        for spelled in filter(None, (f"--{name}", letter and f"-{letter}")):
            role = () if "server:" in purpose else ("-c", "-H", "localhost")
            base = dump(*role)[1] if role else plain
            status, found, stderr = dump(*role, spelled)
            assert status == OK, f"{spelled}: {stderr}"
            # The placement that follows from the options is shown as well.
            changed = {k for k in found if found[k] != base.get(k) and
                       not k.startswith("plan_")}
            assert changed == {name.replace("-", "_")}, spelled
            tried += 1
    assert tried > 30


@pytest.mark.parametrize("typed, meant", [
    ("--num-flow", None), ("--zerocopi", "--zerocopy"),
    ("--num-thread-s", "--num-threads"), ("--tset-length", "--test-length")])
def test_unknown_option_names_the_nearest(typed, meant):
    with Proc([program(), typed]) as p:
        assert p.wait() in ((USAGE,) if meant else (USAGE, OK))
        assert not meant or meant in p.stderr
