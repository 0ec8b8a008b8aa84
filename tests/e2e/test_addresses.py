# SPDX-License-Identifier: Apache-2.0
"""IPv6, scopes, both families on one listener, and names."""
import re
import shutil
import subprocess

import pytest

from conftest import FAILED, OK, SANITIZED, SLOW, Server, needs


@pytest.fixture
def six(net):
    """Link-local and other IPv6 addresses on the pair, usable at once."""
    for ns, dev, host in ((net.server, "s0", "1"), (net.client, "c0", "2")):
        for prefix in ("fe80::77:", "fd77::"):
            net.ip("addr", "add", f"{prefix}{host}/64", "dev", dev, "nodad",
                   ns=ns)
    return net


@pytest.mark.parametrize("args", [
    ("fe80::77:1%c0",), ("[fe80::77:1%c0]",), ("fd77::1",), ("[fd77::1]",),
    ("fe80::77:1%c0", "-L", "fe80::77:2%c0")], ids=" ".join)
@pytest.mark.parametrize("way", [(), ("-r", "-w")])
def test_ipv6_over_a_link(six, args, way):
    host, *rest = args
    with Server(netns=six.server, host=host) as s:
        c = s.client("-F", "5", "-l", "0.3", *rest, *way, netns=six.client)
        assert c.status == OK, c.story()
        assert s.wait() == OK
    assert c.options["host"] == host
    assert s.result.int("local_rx_bytes") > 0


def test_server_bound_to_a_scoped_address(six):
    with Server("-H", "fe80::77:1%s0", netns=six.server,
                host="fe80::77:1%c0") as s:
        assert s.options["host"] == "fe80::77:1%s0"
        c = s.client("-F", "2", "-l", "0.3", netns=six.client)
        assert c.status == OK, c.story()


@pytest.mark.parametrize("host, said", [
    ("fe80::77:1", "needs %interface"), ("fe80::77:1%nosuch", "nosuch")])
def test_missing_or_unknown_scope(six, host, said):
    with Server(netns=six.server, host=host) as s:
        c = s.client("-l", "0.3", netns=six.client)
        assert c.status == FAILED, c.story()
        assert said in c.stderr
        assert c.ended - c.started < 2 * SLOW


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "[::1]", "localhost"])
def test_default_server_takes_both_families(host):
    with Server(host=host) as s:
        c = s.client("-F", "3", "-l", "0.3")
        assert c.status == OK, c.story()
        assert s.wait() == OK
    for p in (s, c):
        # Nobody typed a mapped address, nobody wants to read one.
        assert "::ffff:" not in "\n".join(p.lines + p.errors)


@pytest.mark.parametrize("flag, good, bad", [
    ("-4", "127.0.0.1", "::1"), ("-6", "::1", "127.0.0.1")])
def test_server_of_one_family(flag, good, bad):
    with Server(flag) as s:
        c = s.client("-l", "0.2", "--connect-timeout", "1", host=bad)
        assert c.status == FAILED, c.story()
        assert "refused" in c.stderr
        assert s.client("-l", "0.2", host=good).status == OK
        assert s.wait() == OK


def test_server_without_ipv6(net):
    net.run(net.server, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1",
            "net.ipv6.conf.lo.disable_ipv6=1")
    with Server(netns=net.server, host=net.server_host()) as s:
        assert s.client("-l", "0.3", netns=net.client).status == OK
        assert s.wait() == OK


def with_hosts(tmp_path, *lines):
    """What makes a program see this /etc/hosts."""
    needs("unshare", "mount")
    hosts = tmp_path / "hosts"
    hosts.write_text("\n".join(lines) + "\n")
    return ["unshare", "-m", "sh", "-c", f"mount --bind {hosts} /etc/hosts && "
            "exec \"$0\" \"$@\""]


@pytest.mark.parametrize("dead", ["fd77::99", "fd99::1"])
def test_falls_back_to_the_other_family(six, tmp_path, dead):
    """A neighbour that is not there, and a net without a route."""
    wrap = with_hosts(tmp_path, f"{dead} both.test", "10.77.0.1 both.test")
    with Server(netns=six.server, host="both.test") as s:
        c = s.client("-F", "4", "-l", "0.3", "--connect-timeout", "10",
                     netns=six.client, wrap=wrap)
        assert c.status == OK, c.story()
        assert c.ended - c.started < 11 * SLOW
        assert s.wait() == OK


SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <unistd.h>

int getaddrinfo(const char *node, const char *service,
		const struct addrinfo *hints, struct addrinfo **found)
{
	int (*next)(const char *, const char *, const struct addrinfo *,
		    struct addrinfo **);

	(void)!write(2, "getaddrinfo\n", 12);
	*(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
	return next(node, service, hints, found);
}
"""


def test_a_name_is_resolved_once(tmp_path):
    if not shutil.which("cc"):
        pytest.skip("needs cc")
    if SANITIZED:
        pytest.skip("a sanitizer wants to be loaded first")
    path = tmp_path / "resolve.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, "-xc", "-", "-ldl"],
                   input=SHIM, text=True, check=True)
    with Server(host="localhost") as s:
        c = s.client("-F", "500", "-l", "0.3",
                     env={"LD_PRELOAD": str(path)})
        assert c.status == OK, c.story()
    assert 1 <= c.errors.count("getaddrinfo") <= 2


def test_an_address_is_never_resolved(tmp_path):
    if not shutil.which("cc"):
        pytest.skip("needs cc")
    if SANITIZED:
        pytest.skip("a sanitizer wants to be loaded first")
    path = tmp_path / "resolve.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, "-xc", "-", "-ldl"],
                   input=SHIM, text=True, check=True)
    with Server() as s:
        c = s.client("-F", "5", "-l", "0.2", env={"LD_PRELOAD": str(path)})
        assert c.status == OK, c.story()
    assert not re.search("getaddrinfo", c.stderr)


def test_unknown_name():
    with Server(host="no-such-host.invalid") as s:
        c = s.client("-l", "0.2")
        assert c.status == FAILED
        assert "no-such-host.invalid" in c.stderr
