# SPDX-License-Identifier: Apache-2.0
"""Many flows: descriptors, ports, backlogs, and flows or workers that die."""
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import (FAILED, INCOMPLETE, OK, SANITIZED, SLOW, Server, needs,
                      wait_for)
from test_figures import both


def limit(soft, hard):
    return ["prlimit", f"--nofile={soft}:{hard}"]


# ---- descriptors ----

@pytest.mark.parametrize("client, server", [
    ((64, 4096), None), (None, (64, 4096)), ((64, 4096), (64, 4096))])
def test_soft_limit_is_raised(client, server):
    needs("prlimit")
    with Server(wrap=limit(*server) if server else ()) as s:
        c = s.client("-F", "200", "-l", "0.3",
                     wrap=limit(*client) if client else ())
        assert c.status == OK, c.story()
        assert s.wait() == OK


@pytest.mark.parametrize("ends", [("client",), ("server",),
                                  ("client", "server")])
def test_hard_limit_is_told_at_once(ends):
    """Refused before any flow: limit, need and side; the server serves on."""
    needs("prlimit")
    tight = limit(128, 128)
    with Server(wrap=tight if "server" in ends else ()) as s:
        c = s.client("-F", "200", "-l", "0.3",
                     wrap=tight if "client" in ends else ())
        assert c.status == FAILED, c.story()
        assert c.ended - c.started < 2 * SLOW
        assert "200 flows" in c.stderr and "limit" in c.stderr
        assert re.search(r"\b128\b", c.stderr)
        assert re.search(r"at most (\d+) fit", c.stderr)
        assert ("refused" in c.stderr) == ("server" in ends)
        assert s.alive()
        before = s.cpu_seconds()
        time.sleep(0.5)
        assert s.cpu_seconds() - before < 0.1
        # What it said fits does fit.
        fits = re.search(r"at most (\d+) fit", c.stderr)[1]
        c = s.client("-F", fits, "-l", "0.2",
                     wrap=tight if "client" in ends else ())
        assert c.status == OK, c.story()
        assert s.wait() == OK


def test_fifteen_thousand_flows():
    """As many flows as the descriptors allow in a long run; one more not."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < 15200:
        pytest.skip(f"only {hard} descriptors")
    if SANITIZED:
        pytest.skip("takes too long")
    with Server() as s:
        c = s.start_client("-F", "15000", "-T", "2", "-L",
                           "127.0.0.2,127.0.0.3", "-l", "1")
        peak = 0
        while c.alive() and s.alive():
            try:
                peak = max(peak, s.rss() + c.rss())
            except (OSError, TypeError):
                break  # one of them has just gone
            time.sleep(0.05)
        assert c.wait(60) == OK, c.story()
        assert s.wait(30) == OK
    assert 0 < peak < 1 << 30
    for key in ("connect_p50", "connect_p99", "connect_max"):
        assert c.result.float(key) > 0
    assert c.result.int("local_flows_failed") == 0


def test_one_flow_more_than_fits_is_refused():
    needs("prlimit")
    with Server() as s:
        c = s.client("-F", "5000", "-l", "1", wrap=limit(1000, 1000))
        assert c.status == FAILED
        most = int(re.search(r"at most (\d+) fit", c.stderr)[1])
        c = s.client("-F", most + 1, "-l", "1", wrap=limit(1000, 1000))
        assert c.status == FAILED
        assert f"{most + 1} flows" in c.stderr and "1000" in c.stderr
        c = s.client("-F", most, "-l", "0.2", wrap=limit(1000, 1000))
        assert c.status == OK, c.story()


def test_five_thousand_flows_open():
    server, client = both("-F", "5000", "-T", "2", "-l", "1")
    for result in (server, client):
        assert result.int("local_flows_failed") == 0
        assert 0 < result.float("connect_p50") <= \
            result.float("connect_p99") <= result.float("connect_max")
        assert result.float("connect_max") <= result.float("connect_seconds")
        assert result.int("listen_overflows") == 0


# ---- ports ----

@pytest.fixture
def few_ports(net):
    net.run(net.client, "sysctl", "-qw",
            "net.ipv4.ip_local_port_range=50000 50099")
    net.ip("addr", "add", "10.77.0.3/24", "dev", "c0", ns=net.client)
    return net


@pytest.mark.parametrize("args", [
    ("-F", "90"), ("-F", "180", "-L", "10.77.0.2,10.77.0.3"),
    ("-F", "180", "--num-ports", "2")], ids=" ".join)
def test_few_source_ports_suffice(few_ports, args):
    server, _ = both(*args, "-l", "0.3", netns=few_ports)
    assert server.int("local_flows_failed") == 0


def test_too_few_source_ports_are_told_at_once(few_ports):
    net = few_ports
    with Server(netns=net.server, host=net.server_host()) as s:
        c = s.client("-F", "200", "-l", "0.3", netns=net.client)
        assert c.status == FAILED, c.story()
        assert c.ended - c.started < 2 * SLOW
        for word in ("200", "50000", "50099", "--num-ports", "-L",
                     "ip_local_port_range"):
            assert word in c.stderr
        assert s.alive()


# ---- backlog ----

def test_short_backlog(net):
    """All connect in time, and the truncated backlog is told."""
    net.run(net.server, "sysctl", "-qw", "net.core.somaxconn=16")
    server, client = both("-F", "500", "-T", "4", "-l", "1", netns=net)
    for result in (server, client):
        assert result.float("connect_seconds") < 8 * SLOW
        assert result.int("listen_overflows") >= 0
        assert result.int("local_flows_failed") == 0
        told = [w for w in result.warnings if "--listen-backlog" in w]
        assert len(told) == 1
        assert "4096" in told[0] and "somaxconn allows 16" in told[0]


def test_somaxconn_cannot_be_read(net, tmp_path):
    """Empty or gone: at most a warning."""
    needs("unshare", "mount")
    empty = tmp_path / "empty"
    empty.write_text("")
    hide = ["unshare", "-m", "sh", "-c",
            f"mount --bind {empty} /proc/sys/net/core/somaxconn && "
            "exec \"$0\" \"$@\""]
    with Server(netns=net.server, host=net.server_host(), wrap=hide) as s:
        c = s.client("-F", "20", "-l", "0.3", netns=net.client)
        assert c.status == OK, c.story()
        assert s.wait() == OK


# ---- what dies ----

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int armed;

static void arm(int signal) { (void)signal; armed = 1; }

__attribute__((constructor)) static void begin(void)
{
	signal(SIGUSR1, arm);
}

static int fails(void)
{
	int one = 1;

	if (syscall(SYS_gettid) == getpid() ||
	    !atomic_compare_exchange_strong(&armed, &one, 2))
		return 0;
	errno = EBADF;
	return 1;
}

int epoll_wait(int fd, struct epoll_event *e, int n, int t)
{
	int (*next)(int, struct epoll_event *, int, int);

	*(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
	return fails() ? -1 : next(fd, e, n, t);
}

int epoll_pwait2(int fd, struct epoll_event *e, int n,
		 const struct timespec *t, const sigset_t *s)
{
	int (*next)(int, struct epoll_event *, int, const struct timespec *,
		    const sigset_t *);

	*(void **)&next = dlsym(RTLD_NEXT, "epoll_pwait2");
	return fails() ? -1 : next(fd, e, n, t, s);
}
"""


@pytest.fixture(scope="module")
def failing_wait(tmp_path_factory):
    """After SIGUSR1 one wait of one worker fails."""
    if not shutil.which("cc"):
        pytest.skip("needs cc")
    if SANITIZED:
        pytest.skip("a sanitizer wants to be loaded first")
    path = tmp_path_factory.mktemp("shim") / "wait.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, "-xc", "-", "-ldl"],
                   input=SHIM, text=True, check=True)
    return {"LD_PRELOAD": str(path)}


@pytest.mark.parametrize("end", ["client", "server"])
def test_worker_fails(failing_wait, end):
    """The test stops within 2 s, and the thread and its error are named."""
    with Server(env=failing_wait if end == "server" else None) as s:
        c = s.start_client("-F", "8", "-T", "4", "-l", "30", cc="cubic",
                           env=failing_wait if end == "client" else None)
        s.await_traffic()
        victim, other = (c, s) if end == "client" else (s, c)
        victim.signal(signal.SIGUSR1)
        at = time.monotonic()
        assert victim.wait(10) == FAILED, victim.story()
        assert other.wait(10) == INCOMPLETE, other.story()
        assert max(victim.ended, other.ended) - at < 2 * SLOW
    assert re.search(r"worker \d: .*Bad file descriptor",
                     victim.result["end_reason"])
    assert "Bad file descriptor" in victim.stderr
    assert "worker" in other.result["end_reason"]
    assert other.result.int("local_tx_bytes") + \
        other.result.int("local_rx_bytes") > 0


class Relay:
    """Passes data connections on; can reset one pair of them."""

    def __init__(self, target, source=""):
        self.target, self.source = target, source
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(
                self.target, source_address=(self.source, 0))
            self.pairs.append((near, far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(a, b),
                                 daemon=True).start()

    @staticmethod
    def _pass(a, b):
        # With a time limit no thread stays in a call on a closed socket.
        def patiently(call, *args):
            while True:
                try:
                    return call(*args)
                except TimeoutError:
                    pass

        try:
            a.settimeout(0.02)
            b.settimeout(0.02)
            while data := patiently(a.recv, 65536):
                while data:
                    data = data[patiently(b.send, data):]
        except OSError:
            pass

    def reset(self, i):
        for s in self.pairs[i]:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         b"\1\0\0\0\0\0\0\0")
            s.close()

    def close(self):
        self.listener.close()
        for i in range(len(self.pairs)):
            for s in self.pairs[i]:
                s.close()


@pytest.mark.parametrize("way", [(), ("-M",), ("-r", "-w")])
def test_one_flow_is_lost(way):
    """The rest goes on to the end; the lost one is listed with its bytes."""
    with Server("--verbose") as s:
        relay = Relay(("127.0.0.1", s.port))
        try:
            c = s.start_client("-F", "4", "-T", "2", "-l", "2", "--verbose",
                               "-P", relay.port, *way)
            wait_for(lambda: len(relay.pairs) == 4, 10, "flows")
            s.await_traffic()
            relay.reset(1)
            assert c.wait() == INCOMPLETE, c.story()
            assert s.wait() == INCOMPLETE, s.story()
        finally:
            relay.close()
    for p in (c, s):
        r = p.result
        assert r.float("local_seconds") > 1.9
        assert r["complete"] == "0"
        for end in ("local", "remote"):
            assert r[f"{end}_flows_failed"] == "1"
            lost = [v for k, v in r.items() if
                    re.fullmatch(f"{end}_flow_\\d+", k) and
                    not v.endswith("error:")]
            assert len(lost) == 1
            assert re.search(r"error:(Connection reset by peer|Broken pipe)$",
                             lost[0])
        assert any(re.search(r"flow \d+ died", w) for w in r.warnings)


@pytest.mark.parametrize("flags", [(), ("-Z",), ("--skip-rx-copy",)])
def test_what_came_before_the_end_is_counted(flags):
    """A flow that sends, too, is reset while its receive queue is full."""
    with Server() as s:
        relay = Relay(("127.0.0.1", s.port))
        try:
            c = s.start_client("-r", "-w", "-l", "60", "-P", relay.port,
                               *flags)
            s.await_traffic()
            s.signal(signal.SIGSTOP)
            # Filled when nothing more has come for a while.
            seen = []
            wait_for(lambda: seen.append(s.sockets()[0]["bytes_received"]) or
                     seen[-20:] == seen[-1:] * 20, 20, "full queue")
            # The other end must not speak of the loss before this one sees it.
            c.signal(signal.SIGSTOP)
            relay.reset(0)
            wait_for(lambda: not s.sockets(), 10, "reset")
            s.signal(signal.SIGCONT)
            s.await_signals_taken()
            time.sleep(0.5)
            c.signal(signal.SIGCONT)
            assert s.wait() == INCOMPLETE, s.story()
        finally:
            relay.close()
    # Each flow begins with a preamble that belongs to nobody's figures.
    assert s.result.int("local_rx_bytes") == seen[-1] - 32
