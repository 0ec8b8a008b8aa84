# SPDX-License-Identifier: Apache-2.0
"""JSON: one valid document whatever happens, and both ends say the same."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

from conftest import (FAILED, INCOMPLETE, OK, SLOW, USAGE, Proc, Server,
                      program, wait_for)

jsonschema = pytest.importorskip("jsonschema")

ROOT = pathlib.Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/result.schema.json").read_text())


def closed(schema):
    """The schema with no room for members it does not name."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {k: closed(v) for k, v in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        out.setdefault("additionalProperties", False)
    return out


STRICT = closed(SCHEMA)


def refuse(what):
    raise AssertionError(f"{what} is not JSON")


def unique(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key is there twice: {keys}"
    return dict(pairs)


def strict(text, kind="document"):
    """One JSON text, strictly parsed and held against the schema."""
    doc = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    schema = {"$ref": f"#/$defs/{kind}", "$defs": STRICT["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(doc)
    jsonschema.Draft202012Validator(SCHEMA).validate(doc)
    return doc


def document(proc):
    """The one document that is all of a process's standard output."""
    assert len(proc.lines) == 1, proc.lines
    return strict(proc.lines[0])


class JsonServer(Proc):
    """A server whose standard output is JSON, on free ports."""

    def __init__(self, *args, output="--json", **kwargs):
        super().__init__([program(), "-C", "0", "-P", "0", output, *args],
                         **kwargs)
        line = self.await_line(r"listening control_port=\d+", errors=True)
        self.control_port = int(re.search(r"control_port=(\d+)", line)[1])

    start_client = Server.start_client
    client = Server.client
    prog, host = "tcp_stream", "127.0.0.1"


def run(*args, server=(), client=("--json",)):
    """(server's, client's) documents of a short test."""
    with JsonServer(*server) as s:
        c = s.client("-l", "0.4", "-I", "0.1", *client, *args)
        assert c.status == OK, c.stderr
        assert c.stderr == ""
        assert s.wait() == OK, s.stderr
        assert len(s.errors) == 1, "only the line that names the ports"
        return document(s), document(c)


def by_side(doc):
    rows = {"client": [], "server": []}
    for row in doc["intervals"]:
        rows[row["side"]].append(row)
    return rows


DIRECTIONS = [(), ("-M",), ("-r", "-w"), ("--split-bidir",)]


@pytest.mark.parametrize("flags", DIRECTIONS)
def test_both_documents_agree(flags):
    s, c = run("-F", "3", "-T", "2", *flags)
    assert s["role"] == "server" and c["role"] == "client"
    assert s["test"] == c["test"]
    assert s["result"] == c["result"]
    for own, other in ((s, c), (c, s)):
        mine = {k: v for k, v in own["local"].items()
                if k not in ("options", "strangers")}
        assert mine == other["peer"]
        assert own["complete"] and own["valid"] and not own["reasons"]
        assert own["error"] is None and own["end_reason"] == "time"
    assert by_side(s) == by_side(c)
    said = [{(w["side"], w["text"]) for w in d["warnings"] if w["side"]}
            for d in (s, c)]
    assert said[0] == said[1]


@pytest.mark.parametrize("flags", DIRECTIONS)
def test_figures_add_up(flags):
    _, c = run("-F", "3", "-T", "2", *flags)
    r = c["result"]
    n = 6 if "--split-bidir" in flags else 3
    assert [f["id"] for f in r["flows"]] == list(range(n))
    c2s = {(): 3, ("-M",): 0}.get(flags, 3)
    s2c = {(): 0}.get(flags, 3)
    assert (r["c2s"]["flows"], r["s2c"]["flows"]) == (c2s, s2c)
    assert c["test"]["directions"] == (
        ["c2s"] if not s2c else ["s2c"] if not c2s else ["c2s", "s2c"])
    for way, tx, rx in (("c2s", "client", "server"),
                        ("s2c", "server", "client")):
        d = r[way]
        assert d["bytes_sent"] == sum(f[tx]["bytes_sent"] for f in r["flows"])
        assert d["bytes_received"] == sum(f[rx]["bytes_received"]
                                          for f in r["flows"])
        assert d["bytes_received"] == sum(
            t["counts"]["received_bytes"] for t in r["threads"]
            if t["side"] == rx)
        assert d["bytes_received"] == sum(
            row[f"{way}_bytes_received"] for row in c["intervals"]
            if row["side"] == rx)
        assert d["bytes_sent"] == sum(
            row[f"{way}_bytes_sent"] for row in c["intervals"]
            if row["side"] == tx)
        assert (d["bytes_received"] > 0) == (d["flows"] > 0)
        assert d["bits_per_second"] == pytest.approx(
            d["bytes_received"] * 8 / d["seconds"], rel=1e-9)
        if d["flows"]:
            assert 0 < d["fairness"] <= 1.000001
        else:
            assert d["fairness"] is None


def test_text_and_json_say_the_same(tmp_path):
    """--json=FILE leaves key=value on standard output."""
    path = tmp_path / "c.json"
    with Server() as s:
        c = s.client("-l", "0.3", "-F", "2", "-r", f"--json={path}")
        assert c.status == OK and s.wait() == OK
    doc = strict(path.read_text())
    kv = c.result
    assert doc["result"]["c2s"]["bytes_sent"] == kv.int("local_tx_bytes")
    assert doc["result"]["s2c"]["bytes_received"] == kv.int("local_rx_bytes")
    assert doc["result"]["c2s"]["bytes_received"] == kv.int("remote_rx_bytes")
    assert doc["local"]["window"]["start_ns"] == kv.int("local_window_start")
    assert doc["local"]["window"]["start_epoch_ns"] == kv.int("start_epoch_ns")
    assert doc["result"]["s2c"]["bits_per_second"] == pytest.approx(
        kv.float("local_throughput"), abs=1)


def test_flow_tuples_are_those_of_the_sockets():
    with JsonServer() as s:
        c = s.start_client("-l", "1", "-F", "4", "--json")
        time.sleep(0.5)
        text = subprocess.run(["ss", "-HOtnp"], check=True, text=True,
                              capture_output=True).stdout
        real = {tuple(re.findall(r"127\.0\.0\.1:(\d+)", line))
                for line in text.splitlines() if f"pid={c.pid}," in line}
        assert c.wait() == OK and s.wait() == OK
        for doc in (document(s), document(c)):
            flows = doc["result"]["flows"]
            assert len({f["client_port"] for f in flows}) == 4
            for f in flows:
                assert f["client_address"] == f["server_address"] == "127.0.0.1"
                assert (str(f["client_port"]), str(f["server_port"])) in real


def test_options_requested_effective_and_by_whom():
    s, c = run("-F", "2", "-B", "8K", "--sndbuf", "64K",
               server=("-B", "4K", "-T", "1"))
    o = c["test"]["options"]
    assert o["num_flows"] == {"requested": 2, "effective": 2,
                              "set_by": "client"}
    assert o["test_length"]["effective"] == 0.4
    assert o["warmup"] == {"requested": 0, "effective": 0,
                           "set_by": "default"}
    assert o["bytes"]["effective"] is None
    assert c["local"]["options"]["buffer_size"]["effective"] == 8192
    assert s["local"]["options"]["buffer_size"] == {
        "requested": 4096, "effective": 4096, "set_by": "server"}
    assert s["local"]["options"]["sndbuf"] == {
        "requested": 0, "effective": 65536, "set_by": "client"}
    assert s["local"]["options"]["port"]["requested"] == 0
    assert (s["local"]["options"]["port"]["effective"] ==
            c["result"]["flows"][0]["server_port"])
    assert c["local"]["sockets"]["sndbuf"]["set_by"] == "client"
    # Every option of the program is in one of the two blocks.
    both = set(c["test"]["options"]) | set(c["local"]["options"])
    with Server() as plain:
        missing = set(plain.options) - both - {"VERSION", "total_run_time"}
    assert missing == set()


def test_time_and_place():
    before = time.time_ns()
    s, c = run("--title", 'a "b" \\ \u00fc\u20ac \x01')
    after = time.time_ns()
    assert c["title"] == 'a "b" \\ \u00fc\u20ac \x01' and s["title"] is None
    for doc in (s, c):
        e = doc["environment"]
        assert before < e["start_epoch_ns"] < after
        assert e["kernel"] == os.uname().release
        assert e["host"] == os.uname().nodename
        seconds, fraction = divmod(e["start_epoch_ns"], 10 ** 9)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        assert e["start"] == f"{stamp}.{fraction:09d}Z"
    assert abs(s["environment"]["start_epoch_ns"] -
               c["environment"]["start_epoch_ns"]) < 10 ** 8


def test_rows_do_not_drift():
    """Boundaries stand where they should, and there is no row too many."""
    _, c = run("-m", "12500000", "-B", "1M", "-l", "2", "-I", "0.25")
    for rows in by_side(c).values():
        assert [r["index"] for r in rows] == list(range(8))
        for a, b in zip(rows, rows[1:]):
            assert a["end_seconds"] == b["start_seconds"]
        for r in rows:
            assert abs(r["end_seconds"] -
                       0.25 * (r["index"] + 1)) < 0.03 * SLOW


def test_warmup_rows_are_marked():
    _, c = run("--warmup", "0.2")
    rows = by_side(c)["client"]
    assert [r["warmup"] for r in rows] == [True] * 2 + [False] * 4
    assert c["test"]["warmup_seconds"] == 0.2


# ---- lines ----

def stream(lines):
    """(start, intervals, end) of --json-stream."""
    first = strict(lines[0], "start_line")
    rows = [strict(l, "interval_line") for l in lines[1:-1]]
    return first, rows, strict(lines[-1], "end_line")


def test_lines_come_as_they_happen():
    with JsonServer(output="--json-stream") as s:
        c = s.start_client("-l", "2", "-I", "0.2", "--json-stream")
        c.await_line('"event":"start"')
        c.await_line('"event":"interval"', count=3)
        assert c.alive() and len(c.lines) < 15
        assert c.wait() == OK and s.wait() == OK
        ends = []
        for p in (s, c):
            first, rows, end = stream(p.lines)
            assert first["test"]["flows"] == 1
            assert len(rows) == 20
            ends.append(end)
    assert ends[0]["result"] == ends[1]["result"]


def test_document_grows_while_it_runs(tmp_path):
    path = tmp_path / "c.json"
    with Server() as s:
        c = s.start_client("-l", "30", "-I", "0.1", f"--json={path}")
        wait_for(lambda: path.exists() and
                 path.read_text().count('"side"') >= 4, 10, "rows")
        early = path.read_text()
        assert c.alive()
        c.signal(signal.SIGINT)
        assert c.wait() == INCOMPLETE and s.wait() == INCOMPLETE
    assert path.read_text().startswith(early)
    strict(path.read_text())


def test_both_forms_at_once(tmp_path):
    path = tmp_path / "lines"
    with JsonServer() as s:
        c = s.client("-l", "0.3", "--json", f"--json-stream={path}")
        assert c.status == OK and s.wait() == OK
    doc = document(c)
    first, rows, end = stream(path.read_text().splitlines())
    assert first["test"] == doc["test"] and end["result"] == doc["result"]
    assert [{k: v for k, v in r.items() if k != "event"} for r in rows] == \
        doc["intervals"]


# ---- whatever happens, one document ----

def failed(*argv, status, kind, **kwargs):
    p = subprocess.run([program(), *argv], capture_output=True, text=True,
                       timeout=60, stdin=subprocess.DEVNULL, check=False,
                       **kwargs)
    assert p.returncode == status, p.stderr
    doc = strict(p.stdout)
    assert p.stdout.count("\n") == 1
    assert doc["error"]["status"] == status
    assert doc["error"]["kind"] == kind
    assert doc["error"]["message"] in p.stderr
    assert doc["result"] is None and doc["local"] is None
    assert not doc["complete"] and not doc["valid"]
    return doc


@pytest.mark.parametrize("argv", [
    ("--json", "-F", "x"), ("-F", "x", "--json"), ("--no-such", "--json"),
    ("--json", "surplus"), ("--json", "-4", "-6"), ("--json", "-c", "-P0"),
    ("--json=-", "-l", "10x"), ("--json", "--pin=nowhere"),
    ("-l", "--json"), ("--json", "--json-stream"), ("--json", "--bytes=0"),
])
def test_usage_errors(argv):
    failed(*argv, status=USAGE, kind="usage")


def test_usage_error_as_lines():
    p = subprocess.run([program(), "--json-stream", "-F", "x"], check=False,
                       capture_output=True, text=True)
    assert p.returncode == USAGE
    _, rows, end = stream(p.stdout.splitlines())
    assert not rows and end["error"]["kind"] == "usage"


def test_no_json_no_document():
    """A usage error without --json has an empty standard output."""
    p = subprocess.run([program(), "-F", "x", "--", "--json"], check=False,
                       capture_output=True, text=True)
    assert p.returncode == USAGE and p.stdout == ""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def test_nobody_there():
    doc = failed("-c", "-H", "127.0.0.1", "-C", free_port(), "--json",
                 "--connect-timeout", "0.3", status=FAILED, kind="failed")
    assert doc["error"]["errno_name"] == "ECONNREFUSED"
    assert doc["role"] == "client"


def test_refused():
    with Server("--max-flows", "2") as s:
        doc = failed("-c", "-H", "127.0.0.1", "-C", str(s.control_port),
                     "-F", "3", "--json", status=FAILED, kind="refused")
        assert "--max-flows" in doc["error"]["message"]


def test_busy():
    with Server() as s:
        s.start_client("-l", "20")
        s.await_traffic()
        failed("-c", "-H", "127.0.0.1", "-C", str(s.control_port), "--json",
               status=FAILED, kind="busy")


def test_port_taken():
    with Server() as s:
        doc = failed("--json", "-H", "127.0.0.1", "-C", str(s.control_port),
                     status=FAILED, kind="failed")
        assert doc["error"]["errno_name"] == "EADDRINUSE"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("who", ["client", "server"])
def test_interrupted(number, who):
    with JsonServer() as s:
        c = s.start_client("-l", "30", "-I", "0.1", "--json")
        time.sleep(0.6 * SLOW)
        victim, other = (c, s) if who == "client" else (s, c)
        victim.signal(number)
        assert c.wait() == INCOMPLETE and s.wait() == INCOMPLETE
        hit, told = document(victim), document(other)
    assert hit["error"]["kind"] == "interrupted"
    assert told["error"]["kind"] == "incomplete"
    for doc in (hit, told):
        assert doc["error"]["status"] == INCOMPLETE
        assert not doc["complete"] and doc["reasons"] == ["incomplete"]
        assert doc["result"]["c2s"]["bytes_received"] > 0
        assert doc["intervals"]
        assert number.name in doc["error"]["message"]


@pytest.mark.parametrize("who", ["client", "server"])
def test_peer_killed(who):
    with JsonServer() as s:
        c = s.start_client("-l", "30", "-I", "0.1", "--json")
        time.sleep(0.6 * SLOW)
        victim, other = (c, s) if who == "client" else (s, c)
        victim.signal(signal.SIGKILL)
        assert other.wait() == INCOMPLETE
        doc = document(other)
    assert doc["error"]["kind"] == "peer_lost"
    assert doc["peer"] is None and doc["local"] is not None
    way = doc["result"]["c2s"]
    unknown, known = (("bytes_sent", "bytes_received") if who == "client" else
                      ("bytes_received", "bytes_sent"))
    assert way[unknown] is None and way[known] > 0
    assert doc["result"]["flows"][0][who] is None
    assert any("did not arrive" in w["text"] for w in doc["warnings"])


def test_second_signal_completes_the_document():
    with Server() as s:
        c = s.start_client("-l", "30", "-I", "0.1", "--json")
        s.await_traffic()
        s.signal(signal.SIGSTOP)
        c.signal(signal.SIGINT)
        c.await_signals_taken()
        c.signal(signal.SIGINT)
        assert c.wait() == INCOMPLETE
        doc = document(c)
    assert doc["error"]["kind"] == "interrupted" and doc["result"] is None


def test_idle_server_interrupted():
    with JsonServer() as s:
        s.signal(signal.SIGTERM)
        assert s.wait() == OK
        doc = document(s)
    assert doc["test"] is None and doc["error"] is None
    assert not doc["complete"] and doc["end_reason"]


def test_one_document_a_test():
    with JsonServer("--num-tests", "3") as s:
        docs = []
        for n in range(3):
            c = s.client("-l", "0.1", "-F", str(n + 1), "--json")
            assert c.status == OK
            docs.append(document(c))
        assert s.wait() == OK
        mine = [strict(l) for l in s.lines]
    assert [d["number"] for d in mine] == [1, 2, 3]
    assert [d["test"] for d in mine] == [d["test"] for d in docs]
    assert len({d["test"]["uuid"] for d in mine}) == 3


def test_persistent_server_without_a_test():
    with JsonServer("--persistent") as s:
        s.signal(signal.SIGTERM)
        assert s.wait() == OK and s.lines == []


def test_several_clients():
    with JsonServer("--num-clients", "2") as s:
        clients = [s.start_client("-l", "0.5", "-F", "2", "--json")
                   for _ in range(2)]
        assert [c.wait() for c in clients] == [OK, OK]
        assert s.wait() == OK
        doc = document(s)
        docs = [document(c) for c in clients]
    assert doc["peer"] is None and len(doc["peers"]) == 2
    flows = {f["id"]: f for f in doc["result"]["flows"]}
    assert sorted(flows) == [0, 1, 2, 3]
    theirs = [f for d in docs for f in d["result"]["flows"]]
    assert {f["id"]: f for f in theirs} == flows
    total = sum(d["result"]["c2s"]["bytes_received"] for d in docs)
    assert doc["result"]["c2s"]["bytes_received"] == total


# ---- places that cannot be written ----

@pytest.mark.parametrize("option", ["--json", "--json-stream"])
def test_unopenable_file_is_a_usage_error(option, tmp_path):
    for bad in ("/nonexistent/x.json", str(tmp_path)):
        p = subprocess.run([program(), "-c", f"{option}={bad}"], check=False,
                           capture_output=True, text=True)
        assert p.returncode == USAGE and bad in p.stderr
        assert p.stdout == ""


@pytest.mark.parametrize("option", ["--json", "--json-stream"])
def test_full_file_is_named(option):
    """What was measured is still printed."""
    with Server() as s:
        c = s.client("-l", "0.2", f"{option}=/dev/full")
        assert c.status == FAILED
        assert len(c.errors) == 1 and "/dev/full" in c.stderr
        assert c.result.int("remote_rx_bytes") > 0
        assert s.wait() == OK


def test_full_standard_output():
    with Server() as s, open("/dev/full", "w", encoding="utf-8") as full:
        p = subprocess.run(
            [program(), "-c", "-H", "127.0.0.1", "-C", str(s.control_port),
             "-l", "0.2", "--json"], stdout=full, stderr=subprocess.PIPE,
            text=True, check=False, timeout=60)
        assert p.returncode == FAILED and "standard output" in p.stderr
        assert s.wait() == OK


def test_locale():
    s, c = run("-I", "0.1", client=("--json",))
    assert s["result"] == c["result"]
    with JsonServer(env={"LC_ALL": "de_DE.UTF-8"}) as s:
        c = s.client("-l", "0.3", "-I", "0.1", "--json",
                     env={"LC_ALL": "de_DE.UTF-8"})
        assert c.status == OK and s.wait() == OK
        assert document(c)["test"]["interval_seconds"] == 0.1


# ---- without a test ----

def test_version_lists_features():
    out = subprocess.run([program(), "--version", "--json"], check=True,
                         capture_output=True, text=True).stdout
    doc = strict(out, "features_document")
    assert "num-flows" in doc["features"]["options"]
    assert not (set(doc["features"]["options"]) &
                set(doc["features"]["not_available"]))


@pytest.mark.parametrize("option", ["--plan", "--dry-run"])
def test_plan(option):
    out = subprocess.run([program(), option, "--json", "-T", "2", "-F", "4"],
                         check=True, capture_output=True, text=True).stdout
    doc = strict(out, "plan_document")
    assert len(doc["plan"]["threads"]) == 2 and doc["plan"]["flows"] == 4
