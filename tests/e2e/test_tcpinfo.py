# SPDX-License-Identifier: Apache-2.0
"""What TCP_INFO says of a window: counters, limits, figures over flows."""
import re

import pytest

from conftest import OK, SANITIZED, SLOW, Server, wait_for

SUMS = ("retransmits", "bytes_acked", "bytes_received", "bytes_sent",
        "bytes_retrans", "segs_out", "segs_in", "data_segs_out",
        "data_segs_in", "delivered_ce", "dsack_dups", "reorderings")
TIMES = ("busy_seconds", "rwnd_limited_seconds", "sndbuf_limited_seconds",
         "other_busy_seconds")
SPREADS = [f"{name}_{at}{unit}" for at in ("p50", "p90", "max")
           for name, unit in (("rtt", "_us"), ("cwnd", ""),
                              ("cwnd_bytes", ""), ("delivery_rate", ""))]
PREAMBLE = 32  # bytes, sent before the window and perhaps acked in it


def flows(block, end):
    """The lines of an end's flows as dicts."""
    lines = {k: v for k, v in block.items()
             if re.fullmatch(rf"{end}_flow_\d+", k)}
    return [dict(item.split(":", 1) for item in v.split(" ") if ":" in item)
            for v in lines.values()]


def check_both_ends(client, server):
    """What one end says of itself is what the other says of it."""
    names = ("tcp_info_flows", "min_rtt_us", *SUMS, *TIMES, *SPREADS)
    for name in names:
        assert client[f"local_{name}"] == server[f"remote_{name}"], name
        assert client[f"remote_{name}"] == server[f"local_{name}"], name


def check_times(block, end):
    busy, rwnd, sndbuf, other = (block.float(f"{end}_{t}") for t in TIMES)
    assert busy >= 0 and rwnd >= 0 and sndbuf >= 0 and other >= 0
    assert rwnd + sndbuf + other == pytest.approx(busy, abs=0.1)
    # each flow is busy for the window at most, and a jiffy
    limit = block.int(f"{end}_tcp_info_flows") * (
        block.float(f"{end}_seconds") + 0.1 * SLOW)
    assert busy <= limit


@pytest.mark.parametrize("flags", [(), ("-M",), ("-r", "-w"),
                                   ("--warmup", "0.2")])
def test_counters(flags):
    """Counters fit the bytes, and both ends say the same."""
    with Server("--verbose") as s:
        c = s.client("-l", "0.5", "-F", "4", "-T", "2", "--verbose", *flags)
        assert c.status == OK, c.story()
        assert s.wait() == OK
        check_both_ends(c.result, s.result)
        for end in ("local", "remote"):
            r = c.result
            assert r.int(f"{end}_tcp_info_flows") == 4
            acked = r.int(f"{end}_bytes_acked")
            sent = r.int(f"{end}_bytes_sent")
            again = r.int(f"{end}_bytes_retrans")
            if not flags or flags[0] != "--warmup":
                assert acked <= r.int(f"{end}_tx_bytes") + 4 * PREAMBLE
            assert sent >= again >= 0
            assert r.int(f"{end}_segs_out") >= r.int(f"{end}_data_segs_out")
            check_times(r, end)
            assert r.int(f"{end}_rtt_p50_us") <= r.int(f"{end}_rtt_p90_us")
            assert r.int(f"{end}_rtt_p90_us") <= r.int(f"{end}_rtt_max_us")
            assert r.int(f"{end}_rtt_max_us") > 0
            rows = flows(r, end)
            assert len(rows) == 4
            assert sum(int(f["bytes_acked"]) for f in rows) == acked
            assert (sum(int(f["retransmits"]) for f in rows) ==
                    r.int(f"{end}_retransmits"))
            assert (max(int(f["rtt_us"]) for f in rows) ==
                    r.int(f"{end}_rtt_max_us"))
            # Only an end that sent has a window and a rate to speak of.
            assert bool(sent) == bool(r[f"{end}_cwnd_p50"])
            assert bool(sent) == bool(r[f"{end}_delivery_rate_max"])
        moved = sum(c.result.int(f"{end}_bytes_received")
                    for end in ("local", "remote"))
        assert moved > 0
        assert [f.split(" error:")[0] for k, f in c.result.items()
                if k.startswith("local_flow_")] == [
                    f.split(" error:")[0] for k, f in s.result.items()
                    if k.startswith("remote_flow_")]


@pytest.mark.parametrize("reverse", [False, True])
def test_retransmits(net, reverse):
    """A queue that is too short loses segments, and the sender says so."""
    net.tbf("20mbit", limit="20k", burst="5k",
            side="server" if reverse else "client")
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.client("-l", "2", "-F", "4", *(["-M"] if reverse else []),
                     netns=net.client)
        assert c.status == OK, c.story()
        assert s.wait() == OK
        sender, receiver = (("remote", "local") if reverse else
                            ("local", "remote"))
        r = c.result
        assert r.int(f"{sender}_retransmits") > 0
        assert r.int(f"{sender}_bytes_retrans") > 0
        assert r.int(f"{receiver}_retransmits") == 0
        assert (r.int(f"{sender}_bytes_sent") >=
                r.int(f"{sender}_bytes_acked"))
        check_both_ends(r, s.result)


def test_sndbuf_limited(net):
    """A send buffer below what is under way on the path holds the flow up."""
    net.tbf("10mbit", limit="256k")
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.client("-l", "2", "-F", "8", "--sndbuf", "4608", netns=net.client)
        assert c.status == OK, c.story()
        r = c.result
        assert r.float("local_sndbuf_limited_seconds") > 0.2
        assert (r.float("local_sndbuf_limited_seconds") <=
                r.float("local_busy_seconds") + 0.01)
        assert r.float("remote_sndbuf_limited_seconds") == 0
        check_times(r, "local")


def test_rwnd_limited():
    """A reader that is stopped closes the window, and that is counted."""
    with Server("--rcvbuf", "4096") as s:
        c = s.client("-l", "1", "-B", "65536")
        assert c.status == OK, c.story()
        r = c.result
        assert r.float("local_rwnd_limited_seconds") > 0
        assert (r.float("local_rwnd_limited_seconds") <=
                r.float("local_busy_seconds") + 0.01)
        assert r.float("remote_rwnd_limited_seconds") == 0


def test_like_ss(net):
    """The counters of a run are those that ss showed before its end."""
    net.tbf("50mbit", limit="30k")
    with Server(netns=net.server, host=net.server_host()) as s:
        net.tbf("50mbit", limit="30k", side="server")
        c = s.start_client("-l", "3", "-M", netns=net.client)
        last = {}

        def over():
            for seen in s.sockets():
                last.update(seen)
            return not c.alive()

        wait_for(over, 20, "end of the client")
        assert c.wait() == OK, c.story()
        assert s.wait() == OK
        r = s.result
        # The last look of ss was a little before or after the window's end.
        for name, key in (("bytes_sent", "bytes_sent"),
                          ("bytes_acked", "bytes_acked"),
                          ("segs_out", "segs_out"),
                          ("segs_in", "segs_in")):
            ours = r.int(f"local_{key}")
            assert ours == pytest.approx(last[name], rel=0.15), name
        assert r.int("local_retransmits") > 0


def test_dead_flow_keeps_its_figures(net):
    """What TCP said of a flow when it died stays in the sums."""
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.start_client("-l", "3", "-F", "2", "--verbose",
                           netns=net.client)
        s.await_traffic()
        port = net.run(net.client, "ss", "-HOtn", "state", "established",
                       f"dport = :{s.port}").split("\n")[0].split()
        source = port[2].rsplit(":", 1)[1]
        net.run(net.client, "ss", "-K", "-t", "sport", "=", f":{source}")
        status = c.wait()
        if status == OK:
            pytest.skip("this kernel cannot destroy sockets")
        dead = [f for f in flows(c.result, "local")
                if f["local_port"] == source]
        assert int(dead[0]["bytes_acked"]) > 0
        assert c.result.int("local_tcp_info_flows") == 2


@pytest.mark.skipif(SANITIZED, reason="counts system calls")
def test_cost(tmp_path):
    """Two calls a flow and end, however much it moves."""
    from conftest import needs_strace
    needs_strace()
    trace = tmp_path / "trace"
    with Server() as s:
        c = s.client("-l", "1", "-F", "20", wrap=(
            "strace", "-f", "-qq", "-e", "trace=getsockopt", "-o", trace))
        assert c.status == OK, c.story()
    calls = re.findall(r"TCP_INFO", trace.read_text())
    assert 40 <= len(calls) <= 62  # one more while it connects


# ---- the wire ----

def explained(block, end):
    """The shares of the wire's bytes, as floats."""
    return {k: float(v) for k, v in (
        item.split(":") for item in block[f"{end}_wire_explains"].split())}


@pytest.mark.parametrize("flags", [(), ("-M",), ("-B", "100")])
def test_wire_explains(net, flags):
    """What the interface counted is payload, headers and nothing else."""
    with Server(netns=net.server, host=net.server_host()) as s:
        before = interface(net, "c0")
        c = s.client("-l", "1", "-F", "2", *flags, netns=net.client)
        after = interface(net, "c0")
        assert c.status == OK, c.story()
        assert s.wait() == OK
        r = c.result
        assert r["local_interface"] == "c0"
        assert r["remote_interface"] == "s0"
        assert not [w for w in r.warnings if "bytes" in w]
        sender, receiver = (("remote", "local") if "-M" in flags else
                            ("local", "remote"))
        for end, name in ((sender, "tx"), (receiver, "rx")):
            parts = explained(r, end)
            assert (sum(parts[f"{name}_{p}"] for p in
                        ("payload", "resent", "headers", "other")) ==
                    pytest.approx(1, abs=0.001))
            assert abs(parts[f"{name}_other"]) < 0.05
            assert 0.5 < parts[f"{name}_payload"] < 1
        # the program's difference lies within one that spans the whole run
        for name in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets"):
            ours = r.int(f"local_wire_{name}")
            assert 0 < ours <= after[name] - before[name]
        big = "tx_bytes" if sender == "local" else "rx_bytes"
        assert (r.int(f"local_wire_{big}") >=
                0.95 * (after[big] - before[big]))
        for name in ("interface", "wire_explains", "wire_rx_bytes",
                     "stack_retrans_segs", "softnet_processed"):
            assert r[f"local_{name}"] == s.result[f"remote_{name}"]
            assert r[f"remote_{name}"] == s.result[f"local_{name}"]


def interface(net, name):
    """The counters of an interface of the client's namespace."""
    base = f"/sys/class/net/{name}/statistics"
    names = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")
    text = net.run(net.client, "cat", *(f"{base}/{n}" for n in names))
    return dict(zip(names, map(int, text.split())))


def test_wire_loopback():
    """A loopback carries both directions, and both ends see the same."""
    with Server() as s:
        c = s.client("-l", "1", "-F", "4", "-r", "-w")
        assert c.status == OK, c.story()
        r = c.result
        assert r["local_interface"] == r["remote_interface"] == "lo"
        assert r.int("local_wire_rx_bytes") == pytest.approx(
            r.int("local_wire_tx_bytes"), rel=0.001)
        # other tests may run meanwhile, so the rest may be large, not small
        assert explained(r, "local")["tx_other"] > -0.05
        assert not [w for w in r.warnings if "share it" in w]
        cpus = [v for k, v in r.items() if k.startswith("local_softirqs_cpu")]
        assert sum(int(re.search(r"net_rx:(\d+)", v)[1]) for v in cpus) == \
            r.int("local_softirqs_net_rx") > 0


def test_wire_shared(net):
    """Traffic that is not the test's is noticed."""
    with Server("--persistent", netns=net.server,
                host=net.server_host()) as s, \
         Server(netns=net.server, host=net.server_host()) as other:
        net.tbf("200mbit", limit="256k")
        o = other.start_client("-l", "4", netns=net.client)
        other.await_traffic()
        c = s.client("-l", "1", netns=net.client)
        assert c.status == OK, c.story()
        assert any("local: c0 sent" in w and "share it" in w
                   for w in c.result.warnings), c.story()
        o.stop()


def test_retransmits_of_the_stack(net):
    """The stack counts at least what the flows sent again."""
    net.tbf("20mbit", limit="20k", burst="5k")
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.client("-l", "1", "-F", "4", netns=net.client)
        assert c.status == OK, c.story()
        r = c.result
        assert (r.int("local_stack_retrans_segs") >=
                0.9 * r.int("local_retransmits") > 0)
        assert r.int("remote_stack_out_of_order") > 0
