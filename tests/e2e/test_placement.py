# SPDX-License-Identifier: Apache-2.0
"""Where threads run: policies, masks, big machines, and containers."""
import os
import pathlib
import re
import signal
import time

import pytest

from conftest import (OK, SANITIZED, SLOW, USAGE, Proc, Server, needs,
                      needs_strace, program)
from test_figures import both, per

CPUS = sorted(os.sched_getaffinity(0))
BIG = {"HWLOC_SYNTHETIC": "numa:2 core:1024 pu:2"}
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


def plan(*args, env=None, wrap=(), status=OK):
    with Proc([*wrap, program(), "--plan", *args], env=env) as p:
        assert p.wait() == status, p.story()
        return dict(line.split("=", 1) for line in p.lines
                    if not line.startswith("warning=")), p


def worker_cpus(figures):
    return [int(re.search(r"cpu (\d+)", v)[1]) for k, v in figures.items()
            if re.fullmatch(r"plan_worker_\d+", k)]


def masks(p):
    """Cpus_allowed_list of each worker thread of a process, sorted."""
    tasks = pathlib.Path(f"/proc/{p.pid}/task").iterdir()
    return sorted(re.search(r"Cpus_allowed_list:\s+(\S+)",
                            (t / "status").read_text())[1]
                  for t in tasks if t.name != str(p.pid))


# ---- policies in a run ----

# A sanitizer may have a thread of its own.
no_other_threads = pytest.mark.skipif(SANITIZED, reason="threads of others")


@two_cpus
@no_other_threads
def test_affinity_mask_is_obeyed():
    """Under taskset every thread stays on the CPU that is left."""
    needs("taskset")
    only = str(CPUS[1])
    with Server() as s:
        c = s.start_client("-U", "-T", "2", "-F", "2", "-l", "30",
                           wrap=["taskset", "-c", only])
        s.await_traffic()
        assert masks(c) == [only] * 2
        c.signal(signal.SIGINT)
        c.wait()


@two_cpus
@no_other_threads
@pytest.mark.parametrize("client, server", [
    (["-U"], ["-U"]), (["--pin", "cores"], []),
    (["--pin", f"{CPUS[0]},{CPUS[-1]}"], ["--pin", f"{CPUS[-1]},{CPUS[0]}"]),
    (["--peer-pin", "cores"], [])])
def test_threads_have_cpus_of_their_own(client, server):
    with Server(*server) as s:
        c = s.start_client("-T", "2", "-F", "4", "-l", "30", *client)
        s.await_traffic()
        seen = {p: masks(p) for p in (c, s)}
        c.signal(signal.SIGINT)
        c.wait()
        s.wait()
    for p in (c, s):
        shown = [t["cpu"] for t in per(p.result, "thread")]
        assert sorted(shown) == seen[p]
        assert len(set(shown)) == 2
        # Each end knows the other's places.
        other = s if p is c else c
        assert [t["cpu"] for t in per(other.result, "thread", "remote")] == \
            shown
        assert other.result["remote_cpus"] == p.result["local_cpus"]


@two_cpus
def test_list_is_taken_in_its_order():
    a, b = CPUS[0], CPUS[-1]
    with Server("--pin", f"{b},{a}") as s:
        c = s.client("-T", "2", "-F", "2", "-l", "0.2", "--pin", f"{a},{b}")
        assert c.status == OK, c.story()
        assert s.wait() == OK
    assert [t["cpu"] for t in per(c.result, "thread")] == [str(a), str(b)]
    assert [t["cpu"] for t in per(s.result, "thread")] == [str(b), str(a)]


def test_no_pinning_at_all(tmp_path):
    needs_strace()
    log = tmp_path / "log"
    with Server("--pin", "none", wrap=[
            "strace", "-f", "-qq", "-e", "trace=sched_setaffinity", "-o",
            log]) as s:
        assert s.client("-T", "2", "-F", "2", "-l", "0.2").status == OK
        assert s.wait() == OK
    assert "sched_setaffinity(" not in log.read_text()
    assert all(t["cpu"] == "-1" for t in per(s.result, "thread"))


def test_more_threads_than_cpus():
    """They wrap over the CPUs when asked, and it is said."""
    n = len(CPUS) + 1
    _, client = both("-U", "-T", n, "-F", n, "-l", "0.3")
    assert any("--pin" in w for w in client.warnings)
    cpus = [int(t["cpu"]) for t in per(client, "thread")]
    assert len(cpus) == n and set(cpus) == set(CPUS)


# ---- places of interfaces ----

def test_interface_without_a_known_place(net):
    """lo and veth have none: all allowed CPUs, and a warning."""
    for where, dev in ((None, "lo"), (net.server, "s0")):
        with Proc([program(), "--plan", f"--pin=nic={dev}"],
                  netns=where) as p:
            assert p.wait() == OK, p.story()
            assert any(l.startswith("warning=") and dev in l for l in p.lines)
    _, client = both("--pin=nic=c0", "-l", "0.2", netns=net)
    assert any("c0" in w for w in client.warnings)


@pytest.mark.parametrize("policy", [
    "nic=nosuch0", "nonsense", "0-", "99999", "5-1", "1,,2", "node=0"])
def test_impossible_policies_are_usage_errors(policy):
    for args in (("--plan",), ("-n",), ()):
        with Proc([program(), *args, f"--pin={policy}"]) as p:
            assert p.wait(5) == USAGE, p.story()
            assert "--pin" in p.stderr


# ---- plans of other machines ----

def test_plan_of_a_big_machine():
    """Beyond 1024 CPUs: one thread a core first, then it wraps."""
    def cpus(threads):
        figures, p = plan("-c", "-H", "x", "--pin", "cores", "-T", threads,
                          "-F", threads, env=BIG)
        assert figures["plan_workers"] == str(threads)
        shown = worker_cpus(figures)
        listed = [int(n) for n in figures["plan_cpus"].split(",")]
        assert listed[:len(shown)] == shown
        return listed, p

    listed, _ = cpus(3000)
    assert len(listed) == len(set(listed)) == 3000
    assert max(listed) > 1024
    assert {cpu // 2 for cpu in listed[:2048]} == set(range(2048))
    listed, p = cpus(5000)
    assert len(set(listed)) == 4096 and listed[4096:] == listed[:904]
    assert any("--pin" in line for line in p.lines
               if line.startswith("warning="))


def test_plan_deals_the_flows():
    figures, _ = plan("-c", "-H", "x", "-T", "3", "-F", "7")
    shares = [int(v.rsplit(" ", 1)[1]) for k, v in figures.items()
              if re.fullmatch(r"plan_worker_\d+", k)]
    assert shares == [3, 2, 2]


def test_plan_opens_no_socket(tmp_path):
    needs_strace()
    for option in ("--plan", "-n"):
        log = tmp_path / f"log{option}"
        plan_or_dump = ["strace", "-f", "-qq", "-e", "trace=socket", "-o",
                        log, program(), option, "-c", "-H", "127.0.0.1"]
        with Proc(plan_or_dump) as p:
            assert p.wait() == OK, p.story()
        assert "socket(" not in log.read_text()


# ---- containers ----

def test_first_process_of_a_container():
    """As PID 1 nothing has a default action; SIGTERM must still end it."""
    needs("unshare")
    first = ["unshare", "-pf", "--kill-child", "--mount-proc"]
    with Server("--persistent", wrap=first) as s:
        assert s.client("-l", "0.2").status == OK
        s.await_results()
        c = s.start_client("-l", "30")
        s.await_traffic()
        children = pathlib.Path(f"/proc/{s.pid}/task/{s.pid}/children")
        inner = int(children.read_text().split()[0])
        at = time.monotonic()
        os.kill(inner, signal.SIGTERM)
        s.wait(10)
        assert s.ended - at < 1.5 * SLOW
        assert c.wait(10) == 3, c.story()
    assert len(s.results) == 2
    assert s.results[1].int("local_rx_bytes") > 0
    assert "SIGTERM" in s.results[1]["end_reason"]


BARE = ("mount -t tmpfs none /tmp && mount -t tmpfs none /sys && "
        "mount -o remount,bind,ro / && cd /proc && "
        "exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$0\" "
        "\"$@\"")


def test_bare_container(tmp_path):
    """Read-only root, no /sys, nobody, nowhere to write: it works."""
    needs("unshare", "setpriv", "mount")
    if SANITIZED:
        pytest.skip("a sanitizer writes its reports")
    binary = program()
    place = (f"mount -t tmpfs none /mnt && cp {binary} /mnt/tcp_stream && "
             f"{BARE}")
    inside = ["unshare", "-m", "sh", "-c", place]

    def bare(*args):
        return Proc([*inside, "/mnt/tcp_stream", *args])

    with bare("-C", "0", "-P", "0") as s:
        s.await_line("^total_run_time=")
        with bare("-c", "-H", "127.0.0.1", "-C",
                  s.options.int("control_port"), "-l", "0.3", "-F", "3",
                  "--congestion-control", "reno") as c:
            assert c.wait() == OK, c.story()
        assert s.wait() == OK, s.story()
    assert s.result.int("local_rx_bytes") > 0


def test_no_file_is_written(tmp_path):
    needs_strace()
    log = tmp_path / "log"
    with Server(wrap=["strace", "-f", "-qq", "-e", "trace=openat,open,creat",
                      "-o", log]) as s:
        assert s.client("-l", "0.2", "-T", "2", "-F", "2").status == OK
        assert s.wait() == OK
    written = [line for line in log.read_text().splitlines()
               if re.search("O_WRONLY|O_RDWR|O_CREAT|creat", line) and
               "/dev/null" not in line]
    assert not written
