# SPDX-License-Identifier: Apache-2.0
"""What all end-to-end tests share: programs, their output, namespaces."""
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from _pytest import runner

BIN = pathlib.Path(os.environ.get("NAPIER_BIN") or
                   pathlib.Path(__file__).parents[2] / "bin")
SLOW = float(os.environ.get("NAPIER_SLOW") or 1)
SANITIZED = bool(os.environ.get("NAPIER_SAN"))
SOAK = os.environ.get("NAPIER_SOAK") == "1"

OK, FAILED, USAGE, INCOMPLETE = 0, 1, 2, 3

# Processes of the running test; what is left of them dies with it.
_live = []


def repeats(n):
    """How often a case runs: n times in a soak, else a twentieth of that."""
    return n if SOAK else max(1, n // 20)


def wait_for(check, seconds, what):
    """Poll until check() returns something true, and return that."""
    limit = time.monotonic() + seconds * SLOW
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < limit, f"no {what} within {seconds} s"
        time.sleep(0.01)


class Figures(dict):
    """One block of key=value lines; warning= lines are kept in .warnings."""

    def __init__(self, lines):
        super().__init__()
        self.warnings = []
        for line in lines:
            key, equals, value = line.partition("=")
            if key == "warning":
                self.warnings.append(value)
            elif equals:
                self[key] = value

    def int(self, key):
        return int(self[key])

    def float(self, key):
        return float(self[key])


def split_blocks(lines):
    """(options, [results of each test]) of a program's standard output."""
    blocks = [[]]
    begun = True
    for line in list(lines):
        key = line.partition("=")[0]
        # Results open with test= and title=, if any, and this first figure.
        if not begun and key in ("test", "title", "invalid_secret_count"):
            blocks.append([])
            begun = True
        if key in ("total_run_time", "invalid_secret_count"):
            begun = False
        blocks[-1].append(line)
    return Figures(blocks[0]), [Figures(b) for b in blocks[1:]]


class Proc:
    """A process whose output is read as it comes; killed when left alone."""

    def __init__(self, argv, netns=None, env=None, **kwargs):
        prefix = ["ip", "netns", "exec", netns] if netns else []
        self.argv = [*prefix, *map(str, argv)]
        self.netns = netns
        self.lines, self.errors = [], []
        self._news = threading.Condition()
        self._ended = 0
        self.started = time.monotonic()
        self.p = subprocess.Popen(
            self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace",
            env={**os.environ, **(env or {})}, **kwargs)
        _live.append(self)
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self.p.stdout, self.lines),
                         (self.p.stderr, self.errors))]
        for t in self._readers:
            t.start()

    def _read(self, pipe, lines):
        for line in pipe:
            with self._news:
                lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._ended += 1
            self._news.notify_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def pid(self):
        return self.p.pid

    @property
    def stderr(self):
        return "\n".join(self.errors)

    @property
    def options(self):
        return split_blocks(self.lines)[0]

    @property
    def results(self):
        """Blocks of results so far; whole ones once the process is over."""
        return split_blocks(self.lines)[1]

    @property
    def result(self):
        blocks = self.results
        assert len(blocks) == 1, self.story()
        return blocks[0]

    def story(self):
        """For a failing test: what was run and what came of it."""
        tail = "\n".join(f"{k}={v}" for r in self.results
                         for k, v in r.items())
        return (f"{' '.join(self.argv)}\nstatus {self.p.poll()}\n"
                f"-- stderr\n{self.stderr}\n-- results\n{tail}")

    def await_line(self, pattern, seconds=20, count=1, errors=False):
        """Wait for the count-th line of output that matches."""
        lines = self.errors if errors else self.lines
        limit = time.monotonic() + seconds * SLOW
        with self._news:
            while True:
                found = [l for l in lines if re.search(pattern, l)]
                if len(found) >= count:
                    return found[count - 1]
                left = limit - time.monotonic()
                if self._ended == 2 or left <= 0:
                    break
                self._news.wait(left)
        raise AssertionError(f"no line {pattern!r}\n{self.story()}")

    def signal(self, number):
        self.p.send_signal(number)

    def alive(self):
        return self.p.poll() is None

    def wait(self, seconds=30):
        """The exit status; a process that outstays its time is a failure."""
        try:
            self.p.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            self.stop()
            pytest.fail(f"still there after {seconds} s\n{self.story()}")
        self.ended = time.monotonic()
        for t in self._readers:
            t.join(10)
        return self.p.returncode

    def stop(self):
        """End it at once, whatever it does."""
        if self.p.poll() is None:
            self.p.kill()
        self.p.wait()
        for t in self._readers:
            t.join(10)
        if self in _live:
            _live.remove(self)

    # What the kernel says of it.

    def fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def rss(self):
        """Resident memory in bytes."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024

    def await_signals_taken(self):
        """Wait until no signal is pending: a second one will be a second."""
        def taken():
            status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
            return not any(int(mask, 16) for mask in
                           re.findall(r"(?:Sig|Shd)Pnd:\s+(\w+)", status))
        wait_for(taken, 10, "signal taken")

    def switches(self):
        """How often it went to sleep."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"\bvoluntary_ctxt_switches:\s+(\d+)",
                             status)[1])

    def cpu_seconds(self):
        stat = pathlib.Path(f"/proc/{self.pid}/stat").read_text()
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def program(name="tcp_stream"):
    return str(BIN / name)


class Server(Proc):
    """A server on free ports, ready for clients when this returns."""

    def __init__(self, *args, netns=None, host="127.0.0.1", prog="tcp_stream",
                 env=None, ports=("-C", "0", "-P", "0"), wrap=()):
        super().__init__([*wrap, program(prog), *ports, *args], netns=netns,
                         env=env)
        self.prog, self.host = prog, host
        self.await_line(r"^total_run_time=")
        self.control_port = self.options.int("control_port")
        self.port = self.options.int("port")

    def start_client(self, *args, netns=None, host=None, cc=None, prog=None,
                     control_port=None, env=None, wrap=()):
        """Start a client of this server and return it at once."""
        cc = cc or ("reno" if netns else "cubic")
        return Proc([*wrap, program(prog or self.prog), "-c",
                     "-H", host or self.host,
                     "-C", control_port or self.control_port,
                     "--congestion-control", cc, *args], netns=netns, env=env)

    def client(self, *args, timeout=30, **kwargs):
        """Run a client to its end; .status is its exit status."""
        c = self.start_client(*args, **kwargs)
        c.status = c.wait(timeout)
        return c

    def sockets(self):
        """One dict of `ss -tin` counters for each data connection."""
        prefix = ["ip", "netns", "exec", self.netns] if self.netns else []
        text = subprocess.run(
            [*prefix, "ss", "-HOtin", "state", "established",
             f"sport = :{self.port}"],
            check=True, capture_output=True, text=True).stdout
        return [{k: int(v) for k, v in re.findall(r"\b(\w+):(\d+)\b", line)}
                for line in text.splitlines()]

    def await_connection(self, count=1, seconds=20):
        """Wait until so many data connections are there."""
        wait_for(lambda: len(self.sockets()) >= count, seconds, "connection")

    def await_traffic(self, nbytes=1 << 20, seconds=20):
        """Wait until data flow in some direction: the test is under way."""
        def moved():
            return sum(s.get("bytes_received", 0) + s.get("bytes_acked", 0)
                       for s in self.sockets()) >= nbytes
        wait_for(moved, seconds, "traffic")

    def await_quiet(self, seconds=20):
        """Wait until no data connection is left."""
        wait_for(lambda: not self.sockets(), seconds, "end of the flows")

    def await_results(self, count=1, seconds=20):
        """Wait until so many tests were reported."""
        self.await_line(r"^end_reason=", seconds, count)

    def finish(self, number=signal.SIGTERM, seconds=20):
        """Ask it to end; its exit status."""
        self.signal(number)
        return self.wait(seconds)


class Net:
    """A server's namespace and clients', each joined to it by a veth pair."""

    _count = itertools.count()

    def __init__(self, clients=1):
        self.base = f"np{os.getpid()}n{next(self._count)}"
        self.server = f"{self.base}s"
        self.clients = [f"{self.base}c{i}" for i in range(clients)]
        self.client = self.clients[0]
        try:
            for ns in (self.server, *self.clients):
                self.ip("netns", "add", ns)
                self.ip("link", "set", "lo", "up", ns=ns)
                self.run(ns, "sysctl", "-qw",
                         "net.ipv4.tcp_congestion_control=reno")
            for i in range(clients):
                self._join(i)
        except BaseException:
            self.close()
            raise

    def _join(self, i):
        # Inside the server's namespace the ends are s0, s1, ...; inside a
        # client's it is always c0.
        self.ip("link", "add", f"s{i}", "netns", self.server, "type", "veth",
                "peer", "name", "c0", "netns", self.clients[i])
        for ns, dev, host in ((self.server, f"s{i}", 1),
                              (self.clients[i], "c0", 2)):
            self.ip("addr", "add", f"10.77.{i}.{host}/24", "dev", dev, ns=ns)
            self.ip("link", "set", dev, "up", ns=ns)

    @staticmethod
    def server_host(i=0):
        return f"10.77.{i}.1"

    @staticmethod
    def client_host(i=0):
        return f"10.77.{i}.2"

    @staticmethod
    def ip(*args, ns=None):
        prefix = ["ip", "-n", ns] if ns else ["ip"]
        subprocess.run([*prefix, *args], check=True, capture_output=True,
                       text=True)

    @staticmethod
    def run(ns, *argv):
        return subprocess.run(["ip", "netns", "exec", ns, *argv], check=True,
                              capture_output=True, text=True).stdout

    def link(self, up, i=0):
        """Cut or mend the client's side of pair i."""
        self.ip("link", "set", "c0", "up" if up else "down",
                ns=self.clients[i])

    def tbf(self, rate, limit="64k", burst="16k", i=0, side="client"):
        """Limit what leaves one side of pair i."""
        ns, dev = ((self.clients[i], "c0") if side == "client" else
                   (self.server, f"s{i}"))
        self.run(ns, "tc", "qdisc", "replace", "dev", dev, "root", "tbf",
                 "rate", rate, "burst", burst, "limit", limit)

    def close(self):
        for ns in (self.server, *self.clients):
            subprocess.run(["ip", "netns", "del", ns], check=False,
                           capture_output=True)


@pytest.fixture
def make_net():
    """Net objects that go with the test."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("needs root and iproute2")
    made = []

    def make(clients=1):
        made.append(Net(clients))
        return made[-1]

    yield make
    for p in list(_live):
        p.stop()
    for net in made:
        net.close()


@pytest.fixture
def net(make_net):
    """One server's and one client's namespace."""
    return make_net()


@pytest.fixture(autouse=True)
def no_leftovers():
    """No process outlives the test that started it."""
    yield
    for p in list(_live):
        p.stop()


def needs(*tools):
    """Skip the test when a tool is missing."""
    missing = [t for t in tools if not shutil.which(t)]
    if missing:
        pytest.skip(f"needs {' '.join(missing)}")


def needs_strace():
    needs("strace")
    if SANITIZED:
        pytest.skip("the sanitizers' own calls drown what strace shows")


# ---- second tries ----

# A gate that many changes pass may give a test a second try, and says so: one
# that fails only on a disturbed machine must not stop what is sound. Nobody
# else sets this.
RETRY = os.environ.get("NAPIER_RETRY") == "1"


def pytest_runtest_protocol(item, nextitem):
    """Run a failed test once more where second tries are asked for."""
    if not RETRY:
        return None
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runner.runtestprotocol(item, nextitem=nextitem, log=False)
    if any(r.failed for r in reports):
        story = "\n".join(r.longreprtext for r in reports if r.failed)
        print(f"\nsecond try of {item.nodeid} after:\n{story}",
              file=sys.__stdout__, flush=True)
        item._initrequest()
        reports = runner.runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
