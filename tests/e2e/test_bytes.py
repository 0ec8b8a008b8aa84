# SPDX-License-Identifier: Apache-2.0
"""--bytes: exact, counted at the receiver, ends by volume and at once."""
import pytest

from conftest import FAILED, OK, SLOW, USAGE, Proc, Server, program


def flows_of(args, default=1):
    return int(args[args.index("-F") + 1]) if "-F" in args else default


@pytest.mark.parametrize("args", [
    ("--bytes", "1234567", "-B", "1000", "-F", "3"),
    ("--bytes", "1234567", "-B", "1000", "-F", "3", "--skip-rx-copy"),
    ("--bytes", "1234567", "-B", "1000", "-F", "3", "-Z"),
    ("--bytes", "1234567", "-F", "3", "-E", "-T", "2"),
    ("--bytes", "5M", "-m", "125000000"),
    ("--bytes", "50M", "-I", "5"),
    ("--bytes", "1"),
    ("--bytes", "1", "-B", "1M"),
    ("--bytes", "100K", "-D", "100us", "-F", "2"),
])
@pytest.mark.parametrize("way", [(), ("-M",), ("-r", "-w")])
def test_exact(args, way):
    """Each flow and direction moves exactly that much; both ends agree."""
    sizes = {"1234567": 1234567, "5M": 5 << 20, "50M": 50 << 20, "1": 1,
             "100K": 100 << 10}
    total = sizes[args[1]] * flows_of(args)
    with Server() as s:
        c = s.client(*args, *way, "--verbose")
        assert c.status == OK, c.story()
        assert s.wait() == OK, s.story()
    down = total if way else 0
    up = 0 if way == ("-M",) else total
    for block, rx, tx in ((c.result, down, up), (s.result, up, down)):
        assert block["end_reason"] == "bytes"
        assert block.int("local_rx_bytes") == rx
        assert block.int("remote_rx_bytes") == tx
        # A sender may be told of the end before its edge: never more.
        assert block.int("local_tx_bytes") == tx
        assert block.float("local_seconds") > 0


def test_ends_at_once():
    """The end comes by volume, not at the next interval."""
    with Server() as s:
        c = s.client("--bytes", "5M", "-F", "5", "-M", "-I", "30")
        assert c.status == OK, c.story()
        assert c.ended - c.started < 5 * SLOW


def test_time_comes_first():
    """With -l too, whichever limit comes first ends the run, in order."""
    with Server() as s:
        c = s.client("--bytes", "100G", "-l", "0.3")
        assert c.status == OK, c.story()
        assert c.result["end_reason"] == "time"
        assert s.wait() == OK


@pytest.mark.parametrize("args", [
    ("--bytes", "0"), ("--bytes", "-1"), ("--bytes", "x"),
    ("--bytes", "1M", "--warmup", "1"),
])
def test_refused(args):
    with Proc([program(), "-c", *args]) as p:
        assert p.wait() == USAGE
        assert len(p.errors) == 1 and "--bytes" in p.errors[0]


def test_no_limit_of_time_is_refused_by_max_seconds():
    """A volume of bytes may last for ever, which --max-seconds forbids."""
    with Server("--max-seconds", "5") as s:
        c = s.client("--bytes", "1M")
        assert c.status == FAILED
        assert "--max-seconds" in c.errors[0]
        assert s.client("--bytes", "1M", "-l", "2").status == OK


@pytest.mark.parametrize("way", [(), ("-M",), ("-r", "-w")])
@pytest.mark.parametrize("flags", [(), ("-Z",), ("--skip-rx-copy",)])
def test_edge_triggered(way, flags):
    """-E moves bytes on every flow, with a fair share for each."""
    with Server() as s:
        c = s.client("-E", "-l", "1", "-F", "32", "-T", "2", "--verbose",
                     *way, *flags)
        assert c.status == OK, c.story()
        assert s.wait() == OK, s.story()
    for block in (c.result, s.result):
        for key, value in block.items():
            if key.startswith("local_flow_") and "thread:" in value:
                assert "tx_bytes:0 rx_bytes:0" not in value, (key, value)
