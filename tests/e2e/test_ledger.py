# SPDX-License-Identifier: Apache-2.0
"""Zero-copy sends and discarded receives: the figures against the calls."""
import itertools
import re
import shutil
import subprocess

import pytest

from conftest import FAILED, OK, Net, Server, needs, needs_strace

WAYS = {"forward": (), "maerts": ("-M",), "both": ("-r", "-w"),
        "split": ("--split-bidir",)}
SENDERS = {"forward": ["client"], "maerts": ["server"],
           "both": ["client", "server"], "split": ["client", "server"]}
RECEIVERS = {"forward": ["server"], "maerts": ["client"],
             "both": ["client", "server"], "split": ["client", "server"]}
LOOPBACK, VETH = "loopback", "veth"
GAINED_NOTHING = "nothing was gained"


def run(*args, netns=None, env=None, server_args=(), wrap=None, **kwargs):
    """One run; ({"server": Server, "client": Proc}, their results by end)."""
    wrap = wrap or {}
    place = {"netns": netns.server, "host": Net.server_host()} if netns else {}
    with Server(*server_args, wrap=wrap.get("server", ()),
                env=env and env.get("server"), **place) as s:
        c = s.client(*args, netns=netns and netns.client,
                     wrap=wrap.get("client", ()),
                     env=env and env.get("client"), timeout=60, **kwargs)
        assert c.status == OK, c.story()
        assert s.wait(30) == OK, s.story()
    return ({"server": s, "client": c},
            {"server": s.result, "client": c.result})


def ledger(result, end="local"):
    return {k: result.int(f"{end}_zerocopy_{k}")
            for k in ("sends", "completions", "copied", "enobufs",
                      "fallbacks", "outstanding")}


def check_all_copied(result):
    """On loopback and veth every send completes, and every one was copied."""
    z = ledger(result)
    assert z["sends"] > 0
    assert z["completions"] == z["copied"] == z["sends"]
    assert z["outstanding"] == z["enobufs"] == z["fallbacks"] == 0
    assert any("--zerocopy" in w and GAINED_NOTHING in w
               for w in result.warnings)


@pytest.mark.parametrize("where", [LOOPBACK, VETH])
@pytest.mark.parametrize("flows", [1, 4])
def test_zerocopy_is_copied_here_and_says_so(request, where, flows):
    net = request.getfixturevalue("net") if where == VETH else None
    _, results = run("-Z", "-F", flows, "-l", "1", netns=net)
    check_all_copied(results["client"])
    # The server sent nothing, and knows the client's ledger.
    assert ledger(results["server"])["sends"] == 0
    assert ledger(results["server"], "remote") == ledger(results["client"])


@pytest.mark.parametrize("way", WAYS)
def test_zerocopy_at_whoever_sends(way):
    _, results = run("-Z", "-F", "2", "-l", "0.5", *WAYS[way])
    for end, result in results.items():
        if end in SENDERS[way]:
            check_all_copied(result)
        else:
            assert ledger(result)["sends"] == 0


def test_zerocopy_of_the_server_alone():
    """A switch that is on at either end is on."""
    _, results = run("-M", "-l", "0.5", server_args=["-Z"])
    check_all_copied(results["server"])
    assert results["client"].int("remote_zerocopy_sends") == \
        results["server"].int("local_zerocopy_sends")


def test_error_queue_is_drained_with_many_flows():
    """Completions are no errors, and none is left behind at the close."""
    _, results = run("-Z", "-F", "200", "-T", "2", "-l", "1")
    check_all_copied(results["client"])
    assert results["client"].int("local_flows_failed") == 0


def traced(tmp_path, ends, calls):
    """What makes these ends write their calls to a file a thread."""
    needs_strace()
    return {end: ["strace", "-ff", "-qq", "-s", "0", "-e", f"trace={calls}",
                  "-e", "signal=none", "-o", tmp_path / end] for end in ends}


CALL = re.compile(r"(sendto|recvfrom)\((\d+), .*, (\d+), ([A-Z_|]+|0), .*\)"
                  r" += (\d+)")


def calls(tmp_path, end):
    """A list a thread: (call, flags, result) of transfers that moved bytes."""
    out = []
    for path in tmp_path.glob(f"{end}.*"):
        found = [CALL.match(line) for line in path.read_text().splitlines()]
        out.append([(m[1], m[4].split("|"), int(m[5])) for m in found
                    if m and int(m[5]) > 0])
    return [thread for thread in out if thread]


def began_with(threads, count, nbytes):
    """Did some first calls of each thread, count in all, move nbytes?"""
    sums = [[0, *itertools.accumulate(thread)] for thread in threads]
    if len(sums) == 1:
        sums.append([0])
    first, second = sums
    return any(first[i] + second[count - i] == nbytes
               for i in range(len(first)) if 0 <= count - i < len(second))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threads", [1, 2])
def test_zerocopy_sends_are_those_of_strace(tmp_path, way, threads):
    wrap = traced(tmp_path, SENDERS[way], "sendto")
    _, results = run("-Z", "-F", "4", "-T", threads, "-l", "0.5", *WAYS[way],
                     wrap=wrap)
    for end in SENDERS[way]:
        seen = [c for thread in calls(tmp_path, end) for c in thread
                if "MSG_ZEROCOPY" in c[1]]
        assert len(seen) == ledger(results[end])["sends"]
        assert sum(c[2] for c in seen) == \
            results[end].int("local_tx_bytes_total")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flows, threads", [(1, 1), (4, 1), (4, 2)])
def test_discarded_receives_are_those_of_strace(tmp_path, way, flows, threads):
    """--skip-rx-copy holds at every reader, whoever asked for it."""
    wrap = traced(tmp_path, RECEIVERS[way], "recvfrom")
    _, results = run("--skip-rx-copy", "-F", flows, "-T", threads, "-l", "0.5",
                     *WAYS[way], wrap=wrap)
    for end in ("client", "server"):
        result = results[end]
        assert result["payload_read"] == "false"
        if end not in RECEIVERS[way]:
            assert result.int("local_rx_truncated_total") == 0
            continue
        seen = [[c[2] for c in thread if "MSG_TRUNC" in c[1]]
                for thread in calls(tmp_path, end)]
        seen = [thread for thread in seen if thread]
        # What still arrives while the results travel is in no figure.
        for suffix in ("", "_total"):
            count = result.int(f"local_rx_truncated{suffix}")
            assert count > 0
            assert began_with(seen, count,
                              result.int(f"local_rx_bytes{suffix}"))


def test_discarding_moves_the_same_bytes():
    """What was received is what was sent, discarded or not."""
    for flags in ((), ("--skip-rx-copy",)):
        _, results = run("-F", "3", "-l", "0.5", "-r", "-w", *flags)
        for here, there in (("client", "server"), ("server", "client")):
            got = results[here].int("local_rx_bytes_total")
            assert 0 < got <= results[there].int("local_tx_bytes_total")


# ---- what the kernel refuses ----

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

int setsockopt(int fd, int level, int option, const void *value, socklen_t n)
{
	int (*next)(int, int, int, const void *, socklen_t);

	if (level == SOL_SOCKET && option == SO_ZEROCOPY) {
		errno = EOPNOTSUPP;
		return -1;
	}
	*(void **)&next = dlsym(RTLD_NEXT, "setsockopt");
	return next(fd, level, option, value, n);
}
"""


def check_fallback(results, cpu_limit):
    """Sends that could not be pinned were copied, counted and named once."""
    result = results["client"]
    z = ledger(result)
    assert z["enobufs"] > 0
    assert 0 < z["fallbacks"] <= z["enobufs"]
    assert z["completions"] == z["sends"] and z["outstanding"] == 0
    named = [w for w in result.warnings if "ENOBUFS" in w]
    assert len(named) == 1
    assert "RLIMIT_MEMLOCK" in named[0] and "optmem_max" in named[0]
    assert results["server"].int("local_rx_bytes") > 0
    # Refusals are answered by a copying send, not by asking again and again.
    assert z["enobufs"] <= result.int("local_tx_transfers") * 2 + cpu_limit


def test_zerocopy_without_the_right_to_lock_memory():
    needs("prlimit", "setpriv")
    if subprocess.run([*NOBODY, "true"], check=False).returncode:
        pytest.skip("cannot become another user")
    wrap = {"client": ["prlimit", "--memlock=65536", *NOBODY]}
    _, results = run("-Z", "-B", "256K", "-F", "4", "-l", "1", wrap=wrap,
                     cc="reno")
    check_fallback(results, 1000)


def test_zerocopy_with_little_option_memory(net):
    net.run(net.client, "sysctl", "-qw", "net.core.optmem_max=2048")
    _, results = run("-Z", "-F", "4", "-l", "1", netns=net)
    check_fallback(results, 1000)


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """A library that makes SO_ZEROCOPY fail, as LD_PRELOAD."""
    if not shutil.which("cc"):
        pytest.skip("needs cc")
    path = tmp_path_factory.mktemp("shim") / "no-zerocopy.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, "-xc", "-", "-ldl"],
                   input=SHIM, text=True, check=True)
    return {"LD_PRELOAD": str(path)}


@pytest.mark.parametrize("end, flags", [("client", ()), ("server", ("-M",))])
def test_zerocopy_that_the_kernel_refuses(shim, end, flags):
    """The sends are copied, and that is said; never 0 bytes."""
    _, results = run("-Z", "-l", "0.5", *flags, env={end: shim})
    other = "server" if end == "client" else "client"
    assert results[end].get("local_zerocopy_sends", "0") == "0"
    assert results[other].int("local_rx_bytes") > 0
    said = [w for w in results[end].warnings if "SO_ZEROCOPY" in w]
    assert len(said) == 1
    assert "copied" in said[0]
    assert any("SO_ZEROCOPY" in w for w in results[other].warnings)


@pytest.mark.parametrize("end, flags", [("client", ()), ("server", ("-M",))])
def test_zerocopy_refused_is_a_failure_with_strict(shim, end, flags):
    args = ["--strict"] if end == "server" else []
    with Server(*args, env=shim if end == "server" else None) as s:
        c = s.client("-Z", "-l", "0.5", *flags,
                     *(["--strict"] if end == "client" else []),
                     env=shim if end == "client" else None)
        assert c.status == FAILED, c.story()
        assert "SO_ZEROCOPY" in c.stderr
        # The server is not used up by a test that never began.
        assert s.client("-l", "0.2").status == OK
        assert s.wait() == OK
