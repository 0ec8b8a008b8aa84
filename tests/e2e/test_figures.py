# SPDX-License-Identifier: Apache-2.0
"""What is printed: the ends agree, the sums hold, the rates are possible."""
import math
import pathlib
import re
import signal
import time

import pytest

from conftest import (INCOMPLETE, OK, SANITIZED, SLOW, USAGE, Proc, Server,
                      needs, needs_strace, program)

# Flags of the client, and whether (the server, the client) receives.
DIRECTIONS = {
    (): (True, False),
    ("-w",): (True, False),
    ("-r",): (True, True),
    ("-r", "-w"): (True, True),
    ("-M",): (False, True),
    ("-M", "-w"): (False, True),
    ("-M", "-r", "-w"): (False, True),
    ("--split-bidir",): (True, True),
}
WAYS = [(), ("-M",), ("-r", "-w"), ("--split-bidir",)]


def both(*args, server=(), netns=None, timeout=60):
    """Results of a complete run: (server's, client's)."""
    place = {"netns": netns.server,
             "host": netns.server_host()} if netns else {}
    with Server(*server, **place) as s:
        c = s.client(*args, netns=netns and netns.client, timeout=timeout)
        assert c.status == OK, c.story()
        assert s.wait(30) == OK, s.story()
    for p in (s, c):
        assert not re.search(r"=-?(nan|inf)", "\n".join(p.lines))
    return s.result, c.result


def fields(text):
    """The name:value words of a line."""
    return dict(word.split(":", 1) for word in text.split())


def per(result, what, end="local"):
    """Fields of each thread or flow of an end, in order."""
    keys = [k for k in result if re.fullmatch(f"{end}_{what}_\\d+", k)]
    return [fields(result[k]) for k in keys]


def total(rows, key):
    return sum(int(row[key]) for row in rows)


# ---- both ends hold the same ----

@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("extra", [(), ("-Z", "--warmup", "0.2"),
                                   ("--skip-rx-copy", "--sndbuf", "64K")])
def test_each_end_holds_the_others_figures(way, extra):
    server, client = both("-F", "7", "-T", "3", "-l", "0.5", "--verbose",
                          *way, *extra, server=["--verbose"])

    def side(result, end):
        return {k.removeprefix(f"{end}_"): v for k, v in result.items()
                if k.startswith(f"{end}_")}

    def said(result, end):
        return sorted(w.removeprefix(f"{end}: ") for w in result.warnings
                      if w.startswith(f"{end}: "))

    for here, there in ((server, client), (client, server)):
        assert side(here, "local") == side(there, "remote")
        assert said(here, "local") == said(there, "remote")
    shared = [k for k in client if re.match(
        "connect_|syn_retrans|listen_over|one_host|payload_read|complete|"
        "cpu_per_gigabit", k)]
    assert len(shared) > 8
    assert {k: client[k] for k in shared} == {k: server[k] for k in shared}


@pytest.mark.parametrize("way", WAYS)
def test_sums_and_rates(way):
    """Flows, threads and totals are one count, rates their quotient."""
    for result in both("-F", "7", "-T", "3", "-l", "0.7", "--verbose", *way,
                       server=["--verbose"]):
        for end in ("local", "remote"):
            for key in ("tx_bytes", "rx_bytes"):
                whole = result.int(f"{end}_{key}")
                assert total(per(result, "thread", end), key) == whole
                assert total(per(result, "flow", end), key) == whole
                assert whole <= result.int(f"{end}_{key}_total")
            rate = (result.int(f"{end}_rx_bytes") * 8 /
                    result.float(f"{end}_seconds"))
            assert math.isclose(result.float(f"{end}_throughput"), rate,
                                rel_tol=1e-6, abs_tol=1)
        # The headline is what this end received, or else the other.
        own = "local" if result.int("local_rx_bytes") else "remote"
        assert math.isclose(result.float("throughput") * 1e6,
                            result.float(f"{own}_throughput"), rel_tol=1e-3)


@pytest.mark.parametrize("flags", DIRECTIONS, ids=" ".join)
def test_directions(flags):
    server, client = both("-F", "2", "-l", "0.3", "--verbose", *flags,
                          server=["--verbose"])
    for result, receives, sends in (
            (server, *DIRECTIONS[flags]), (client, *DIRECTIONS[flags][::-1])):
        assert (result.int("local_rx_bytes_total") > 0) == receives
        assert (result.int("local_tx_bytes_total") > 0) == sends
        flows = per(result, "flow")
        assert len(flows) == (4 if "--split-bidir" in flags else 2)
        for i, flow in enumerate(flows):
            if "--split-bidir" not in flags:
                continue
            # Even flows go from client to server, odd ones back.
            inward = (i % 2 == 0) == (result is server)
            assert (int(flow["rx_bytes"]) > 0) == inward
            assert (int(flow["tx_bytes"]) > 0) == (not inward)


@pytest.mark.parametrize("server, client, fits", [
    (["-w"], ["-r"], True), (["-r", "-w"], ["-r", "-w"], True),
    (["-r"], [], True), (["-M"], ["-M"], True),
    (["--split-bidir"], ["--split-bidir"], True),
    (["-w"], [], False), (["-M"], [], False), (["-M"], ["-r", "-w"], False),
    (["-r"], ["-M"], False), (["--split-bidir"], ["-r", "-w"], False)])
def test_directions_of_both_command_lines(server, client, fits):
    """What contradicts is refused, naming both; the server serves on."""
    with Server(*server) as s:
        c = s.client("-l", "0.2", *client)
        if fits:
            assert c.status == OK, c.story()
            assert s.wait() == OK
            return
        assert c.status == 1, c.story()
        text = c.stderr
        names = {"-w": "--enable-write", "-M": "--enable-tcp-maerts",
                 "-r": "--enable-read"}
        for flag in server:
            assert names.get(flag, flag) in text
        for flag in client:
            assert names.get(flag, flag) in text
        assert s.alive()


# ---- threads and flows ----

@pytest.mark.parametrize("way", [(), ("-M",), ("-r", "-w")])
def test_every_thread_has_its_share(way):
    for result in both("-F", "7", "-T", "3", "-l", "0.5", *way):
        for end in ("local", "remote"):
            threads = per(result, "thread", end)
            assert [t["flows"] for t in threads] == ["3", "2", "2"]
            for key in ("rx_bytes", "tx_bytes"):
                if result.int(f"{end}_{key}"):
                    assert all(int(t[key]) > 0 for t in threads)
            assert all(float(t["seconds"]) > 0.4 for t in threads)
            assert all(float(t["cpu_seconds"]) > 0 for t in threads)


def test_flows_can_be_joined_by_their_number():
    server, client = both("-F", "50", "-T", "2", "-l", "0.3", "--verbose",
                          server=["--verbose"])
    here, there = per(client, "flow"), per(server, "flow")
    assert len(here) == len(there) == 50
    for a, b in zip(here, there):
        assert (a["local_port"], a["peer_port"]) == \
            (b["peer_port"], b["local_port"])
        assert 0 < int(b["rx_bytes"])
    assert len({a["local_port"] for a in here}) == 50


def jain(values):
    """Jain's index of fairness (Jain, Chiu, Hawe 1984)."""
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


@pytest.mark.parametrize("cc", ["cubic", "reno"])
@pytest.mark.parametrize("flows", [8, 100, 1000])
@pytest.mark.parametrize("threads", [1, 2])
def test_equal_flows_get_equal_shares(threads, flows, cc):
    """With several threads, as far as the machine treats those as equals."""
    with Server("--verbose") as s:
        c = s.client("-F", flows, "-T", threads, "-l", "3", cc=cc, timeout=60)
        assert c.status == OK, c.story()
        assert s.wait() == OK
    assert c.result["fairness"] == s.result["fairness"]
    rows = per(s.result, "flow")
    assert abs(s.result.float("fairness") -
               jain([int(row["rx_bytes"]) for row in rows])) < 1e-4
    for thread in range(threads):
        shares = [int(row["rx_bytes"]) for row in rows
                  if row["thread"] == str(thread)]
        assert len(shares) == flows // threads
        assert jain(shares) >= 0.95
    if threads == 1:
        assert c.result.float("fairness") >= 0.95


# ---- the window ----

@pytest.mark.parametrize("way", [(), ("-M",), ("-r", "-w")])
def test_warm_up_is_in_no_figure(net, way):
    """A steady path: what is left out is in proportion to its time."""
    net.tbf("100mbit", limit="256k")
    net.tbf("100mbit", limit="256k", side="server")
    server, client = both("--warmup", "1", "-l", "1.5", "-I", "0.5", "-F",
                          "10", *way, netns=net)
    for result in (server, client):
        for end in ("local", "remote"):
            seconds = result.float(f"{end}_seconds")
            assert abs(seconds - 1.5) <= 0.05 * SLOW
            cpu = sum(float(t["cpu_seconds"])
                      for t in per(result, "thread", end))
            assert cpu <= 1.1 * seconds
            rx = result.int(f"{end}_rx_bytes")
            if rx:
                left_out = result.int(f"{end}_rx_bytes_total") - rx
                assert 0.85 < rx * 8 / seconds / 96e6 < 1.01
                assert 0.75 < left_out / rx / (1 / 1.5) < 1.3
        # Three rows of the window, none of the warm-up; and one per flow more.
        assert result.int("num_samples") == (3 + 1) * 10


@pytest.mark.parametrize("interval, rows", [
    ("0.3", [4]), ("0.999", [1, 2]), ("5", [1]), ("0.25", [4]),
    ("1", [1]), ("0.1", [10])])
def test_last_row_of_another_length(interval, rows):
    for result in both("-l", "1", "-I", interval):
        assert result.int("num_samples") - 1 in rows
        assert result["complete"] == "1"
        assert abs(result.float("local_seconds") - 1) <= 0.05 * SLOW


@pytest.mark.parametrize("rate, mbit, args", [
    ("100mbit", 100, ("-I", "0.1", "-l", "2", "-F", "4")),
    ("512kbit", 0.512, ("-B", "1M", "-l", "4", "--sndbuf", "16K"))])
def test_rate_of_a_slow_path(net, rate, mbit, args):
    """Big blocks and short rows on a slow path: steady, and possible."""
    needs("tc")
    net.tbf(rate, limit="256k", burst="4k")
    server, client = both(*args, netns=net)
    payload = mbit * 1448 / 1514
    for result in (server, client):
        assert 0.85 * payload < result.float("throughput") < 1.02 * payload
    # Rows of zero and bursts would show in the line through them.
    assert server.float("correlation_coefficient") > 0.97


def test_nothing_arrived():
    """No bytes: rates are 0 or unknown, never infinite or not a number."""
    # The only send is due at the start of the warm-up.
    server, client = both("-D", "1000s", "-B", "1", "--warmup", "0.3", "-l",
                          "0.2")
    assert server.int("local_rx_bytes_total") == 1
    assert server.int("local_rx_bytes") == 0
    for result in (server, client):
        assert result.float("local_seconds") > 0
        assert result.float("throughput") == 0
        for key in ("fairness", "cpu_per_gigabit"):
            assert result[key] == ""


@pytest.mark.parametrize("way", WAYS)
def test_shortest_window(way):
    for result in both("-l", "1ms", "-I", "1ms", "-F", "3", *way):
        assert result.float("local_seconds") > 0
        assert result["complete"] == "1"


def test_peer_that_stands_still():
    """A server that is stopped says nothing, and no figure is made up."""
    with Server() as s:
        c = s.start_client("-l", "2", "--idle-timeout", "2")
        s.await_traffic()
        s.signal(signal.SIGSTOP)
        assert c.wait(20) == INCOMPLETE, c.story()
        result = c.result
        assert result["complete"] == "0"
        assert result["throughput"] == result["remote_throughput"] == ""
        assert result.float("local_seconds") > 0
        assert result.int("local_tx_bytes") > 0
        s.signal(signal.SIGCONT)


# ---- pacing ----

@pytest.mark.parametrize("way", [(), ("-M",)])
def test_delay_counts_the_sends(way):
    """-D: one send a period of each flow, late ones made up."""
    server, client = both("-D", "10ms", "-B", "1000", "-F", "4", "-T", "2",
                          "-l", "2", *way)
    sender = server if way else client
    sends = sender.int("local_tx_transfers")
    due = 4 * sender.float("local_seconds") / 0.010
    assert 0.97 * due <= sends <= due + 4
    assert sender.int("local_tx_bytes") == 1000 * sends
    assert sender.int("local_late_sends") <= sends


@pytest.mark.parametrize("way", [(), ("-M",)])
@pytest.mark.parametrize("rate, flows", [(1250000, 4), (12500000, 1)])
def test_max_pacing_rate_is_per_flow(way, rate, flows):
    """Never above; and not below either, but for a machine that is busy."""
    for _ in range(4):
        server, client = both("-m", rate, "-F", flows, "--warmup", "1", "-l",
                              "3", *way)
        sender = server if way else client
        shown = fields(sender["local_setting_max-pacing-rate"])
        assert shown["requested"] == shown["effective"] == str(rate)
        reached = client.float("throughput") * 1e6 / (8 * rate * flows)
        assert reached < 1.05
        if reached > 0.95:
            return
    pytest.fail(f"{reached:.3f} of the rate")


# ---- memory ----

@pytest.mark.parametrize("flows, length, interval", [
    (1, "3600", "0.1"), (1000, "600", "0.1"), (10, "1000000", "0.01")])
def test_long_runs_reserve_no_memory(flows, length, interval):
    """Neither touched nor reserved: rows are folded as they come."""
    if SANITIZED:
        pytest.skip("sanitizers have memory of their own")

    def data(p):
        status = pathlib.Path(f"/proc/{p.pid}/status").read_text()
        return int(re.search(r"VmData:\s+(\d+)", status)[1]) * 1024

    with Server() as s:
        c = s.start_client("-F", flows, "-l", length, "-I", interval)
        s.await_traffic()
        first = [p.rss() for p in (s, c)]
        time.sleep(2)  # rows come and go
        for p, before in zip((s, c), first):
            assert p.rss() < before + (2 << 20) < 50 << 20
            assert data(p) < 200 << 20
        c.signal(signal.SIGINT)
        assert c.wait() == INCOMPLETE, c.story()
        assert s.wait() == INCOMPLETE, s.story()
    assert c.result.float("local_seconds") > 2


# ---- usage ----

@pytest.mark.parametrize("flag, value", [
    ("-F", "10x"), ("-F", "-1"), ("-F", "0"), ("-l", "1e3"), ("-l", ""),
    ("-l", "0"), ("-l", "-5"), ("-B", "0"), ("-B", "1T"), ("-m", "5q"),
    ("-m", "10Mb"), ("-m", "10KB"), ("-I", "nan"), ("-I", "0"), ("-I", "inf"),
    ("-T", "0"), ("-P", "70000"), ("-P", "-1"), ("-C", "http-nonsense"),
    ("-D", "-1"), ("--warmup", "-1"), ("--mss", "x"), ("--tos", "256"),
    ("--source-port", "0"), ("--source-port", "65536")])
def test_bad_values_are_refused(flag, value):
    """Refused with the flag as typed, the value, and what is accepted."""
    joined = [f"{flag}={value}"] if flag.startswith("--") else [flag, value]
    with Proc([program(), "-c", "-H", "127.0.0.1", *joined]) as p:
        assert p.wait(5) == USAGE, p.story()
        assert flag in p.stderr
        assert f'"{value}"' in p.stderr
        assert "accepted" in p.stderr


def test_usage_errors_open_no_socket(tmp_path):
    needs_strace()
    log = tmp_path / "log"
    with Proc(["strace", "-f", "-qq", "-e", "trace=socket", "-o", log,
               program(), "-c", "-H", "127.0.0.1", "-F", "10x"]) as p:
        assert p.wait() == USAGE
    assert "socket(" not in log.read_text()
