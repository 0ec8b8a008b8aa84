# SPDX-License-Identifier: Apache-2.0
"""--all-samples and --iostat-ms: neper's columns, whole numbers, exact sums."""
import csv
import json
import re
import subprocess
import time

import pytest

from conftest import FAILED, INCOMPLETE, OK, SLOW, USAGE, Server, program

NEPER = ["tid", "flow_id", "time", "bytes_read", "bytes_read/s", "utime",
         "stime", "maxrss", "minflt", "majflt", "nvcsw", "nivcsw"]
NEW = ["run", "warmup", "start", "end", "bytes_read_interval",
       "bytes_written", "bytes_acked", "retransmits", "rtt_us", "cwnd"]


def read(path):
    with open(path, newline="", encoding="ascii") as f:
        table = csv.DictReader(f)
        rows = list(table)
        assert table.fieldnames == NEPER + NEW
    for r in rows:
        assert None not in r and None not in r.values()
        assert re.fullmatch(r"\d+\.\d{9}", r["time"])
        assert re.fullmatch(r"\d+\.\d\d", r["bytes_read/s"])
        assert re.fullmatch(r"\d+\.\d{6}", r["utime"])
    return rows


def by_flow(rows):
    flows = {}
    for r in rows:
        flows.setdefault(int(r["flow_id"]), []).append(r)
    return flows


@pytest.mark.parametrize("flags", [(), ("-M",), ("-r",), ("--split-bidir",)])
def test_sums_are_those_of_the_flows(flags, tmp_path):
    """Both ends, senders too: a row for every flow and interval."""
    paths = {"client": tmp_path / "c.csv", "server": tmp_path / "s.csv"}
    doc_path = tmp_path / "c.json"
    with Server("-A" + str(paths["server"])) as s:
        c = s.client("-l", "0.6", "-I", "0.2", "-F", "3", "-T", "2",
                     f"--json={doc_path}", "--all-samples=" +
                     str(paths["client"]), *flags)
        assert c.status == OK and s.wait() == OK
        assert c.stderr == s.stderr == ""
    doc = json.loads(doc_path.read_text())
    for side, path in paths.items():
        rows = read(path)
        flows = by_flow(rows)
        # Three, unless this machine was too busy to look in between.
        intervals = [r for r in doc["intervals"] if r["side"] == side]
        assert len(rows) == len(intervals) * len(doc["result"]["flows"])
        assert sorted(flows) == [f["id"] for f in doc["result"]["flows"]]
        for f in doc["result"]["flows"]:
            mine = flows[f["id"]]
            assert {int(r["tid"]) for r in mine} == {f[side]["thread"]}
            assert int(mine[-1]["bytes_read"]) == f[side]["bytes_received"]
            assert int(mine[-1]["bytes_written"]) == f[side]["bytes_sent"]
            assert sum(int(r["bytes_read_interval"]) for r in mine) == \
                f[side]["bytes_received"]
            check_series(mine)
        for r in rows:
            assert r["run"] == "1" and r["warmup"] == "0"
            assert r["bytes_acked"] == r["cwnd"] == ""


def check_series(rows):
    last = 0
    for a, b in zip(rows, rows[1:]):
        assert a["end"] == b["start"]
    for r in rows:
        read_now = int(r["bytes_read"])
        seconds = float(r["end"]) - float(r["start"])
        assert int(r["bytes_read_interval"]) == read_now - last
        assert float(r["bytes_read/s"]) == pytest.approx(
            (read_now - last) / seconds, rel=1e-5, abs=0.01)
        last = read_now


def test_warmup_rows_are_there_and_marked(tmp_path):
    path = tmp_path / "c.csv"
    with Server() as s:
        c = s.client("-M", "-l", "0.4", "--warmup", "0.2", "-I", "0.1",
                     f"-A{path}")
        assert c.status == OK and s.wait() == OK
    rows = read(path)
    assert [r["warmup"] for r in rows] == ["1"] * 2 + ["0"] * 4
    measured = sum(int(r["bytes_read_interval"]) for r in rows
                   if r["warmup"] == "0")
    assert measured == c.result.int("local_rx_bytes")


@pytest.mark.parametrize("option, name", [
    ("-A", "samples.csv"), ("--all-samples", "samples.csv"),
    ("-Ax.csv", "x.csv"), ("--all-samples=x.csv", "x.csv")])
def test_name_of_the_file(option, name, tmp_path):
    with Server() as s:
        p = subprocess.run(
            [program(), "-c", "-H", "127.0.0.1", "-C", str(s.control_port),
             "-l", "0.2", option], cwd=tmp_path, check=False,
            capture_output=True, text=True, timeout=60)
        assert p.returncode == OK and s.wait() == OK
    assert [f.name for f in tmp_path.iterdir()] == [name]
    assert len(read(tmp_path / name)) == 1


def test_name_after_a_space_is_refused(tmp_path):
    p = subprocess.run([program(), "-c", "-A", "x.csv"], cwd=tmp_path,
                       check=False, capture_output=True, text=True)
    assert p.returncode == USAGE and "x.csv" in p.stderr


def test_several_tests_are_several_runs(tmp_path):
    path = tmp_path / "s.csv"
    with Server("--num-tests", "2", f"-A{path}") as s:
        for flows in "12":
            assert s.client("-l", "0.2", "-F", flows).status == OK
        assert s.wait() == OK
    assert [(r["run"], r["flow_id"]) for r in read(path)] == \
        [("1", "0"), ("2", "0"), ("2", "1")]


def test_flow_ids_of_several_clients(tmp_path):
    with Server("--num-clients", "2", f"-A{tmp_path}/s.csv") as s:
        clients = [s.start_client("-l", "0.3", "-F", "2",
                                  f"-A{tmp_path}/{i}.csv") for i in "01"]
        assert [c.wait() for c in clients] == [OK, OK]
        assert s.wait() == OK
    ids = [sorted(by_flow(read(tmp_path / f"{i}.csv"))) for i in "01"]
    assert sorted(ids) == [[0, 1], [2, 3]]
    assert sorted(by_flow(read(tmp_path / "s.csv"))) == [0, 1, 2, 3]


def test_file_grows_while_the_test_runs(tmp_path):
    path = tmp_path / "c.csv"
    with Server() as s:
        c = s.start_client("-l", "30", "-I", "0.1", f"-A{path}")
        s.await_traffic()
        time.sleep(0.5 * SLOW)
        assert path.read_text().count("\n") > 2
        c.signal(2)
        assert c.wait() == INCOMPLETE
    assert read(path)


@pytest.mark.parametrize("bad", ["/nonexistent/x.csv", "/"])
def test_unopenable_file_is_a_usage_error(bad):
    p = subprocess.run([program(), "-c", f"-A{bad}"], check=False,
                       capture_output=True, text=True)
    assert p.returncode == USAGE and bad in p.stderr


@pytest.mark.parametrize("end", ["client", "server"])
def test_full_file_is_named(end):
    """What was measured is still printed, and the other end is content."""
    full = "-A/dev/full"
    with Server(*([full] if end == "server" else [])) as s:
        c = s.client("-l", "0.3", *([full] if end == "client" else []))
        status = {"client": c.status, "server": s.wait()}
        bad = c if end == "client" else s
        assert status.pop(end) == FAILED
        assert list(status.values()) == [OK]
        assert len(bad.errors) == 1 and "/dev/full" in bad.stderr
        assert bad.result["complete"] == "1"
        assert c.result.int("remote_rx_bytes") > 0


def test_dry_run_leaves_the_file_alone(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("kept")
    subprocess.run([program(), "-n", f"-A{path}"], check=True,
                   capture_output=True)
    assert path.read_text() == "kept"


@pytest.mark.parametrize("argv", [
    ("-A-",), ("-Ax", "--json=x"), ("-Ax", "--json-stream=x"),
    ("--json=x", "--json-stream=x"), ("--json", "--iostat-ms=5"),
    ("--iostat-ms=-1",)])
def test_outputs_that_exclude_each_other(argv, tmp_path):
    p = subprocess.run([program(), "-c", *argv], check=False, cwd=tmp_path,
                       capture_output=True, text=True)
    assert p.returncode == USAGE
    assert not list(tmp_path.iterdir())


def test_decimal_point_in_any_locale(tmp_path):
    with Server() as s:
        c = s.client("-M", "-l", "0.3", "-I", "0.1", f"-A{tmp_path}/c.csv",
                     env={"LC_ALL": "de_DE.UTF-8"})
        assert c.status == OK and s.wait() == OK
    assert len(read(tmp_path / "c.csv")) == 3


# ---- --iostat-ms ----

LINE = re.compile(
    r"t=(?P<t>\d+\.\d{3}) {1,5} TX: (?P<tx_ops> *\d+) ops, (?P<tx> *\d+) "
    r"bytes, (?P<tx_rate> *\d+\.\d) Mbps; RX: (?P<rx_ops> *\d+) ops, "
    r"(?P<rx> *\d+) bytes, (?P<rx_rate> *\d+\.\d) Mbps;")


def test_iostat_line():
    with Server() as s:
        c = s.client("-l", "0.8", "-r", "--iostat-ms", "200")
        assert c.status == OK and s.wait() == OK
    lines = [l for l in c.lines if l.startswith("t=")]
    found = [LINE.fullmatch(l) for l in lines]
    assert all(found), lines
    assert len(found) in (4, 5)
    for i, m in enumerate(found[:4]):
        assert float(m["t"]) == pytest.approx(0.2 * (i + 1), abs=0.05 * SLOW)
        assert lines[i].index(" TX:") == len("t=") + 10
        assert len(m["tx_ops"]) == 6 and len(m["tx"]) == 10
        assert len(m["tx_rate"]) == 8
        assert int(m["tx"]) > 0 and int(m["rx_ops"]) > 0
    for key in ("tx", "rx"):
        total = sum(int(m[key]) for m in found)
        assert total >= c.result.int(f"local_{key}_bytes") * 0.99
    assert not [l for l in s.lines if l.startswith("t=")]
