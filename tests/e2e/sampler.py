# SPDX-License-Identifier: Apache-2.0
"""Reads a namespace's counters every half millisecond, as a process.

Run inside a namespace as `sampler.py INTERFACE`; prints "ready", and all
samples when SIGTERM comes: when, bytes and packets that the interface
received, segments that TCP sent again, packets that the interface dropped on
their way out. As a module it reads them back for any instant of
CLOCK_MONOTONIC, which all processes of a host share.
"""
import bisect
import os
import signal
import sys
import time

# Ethernet, IPv4, and TCP with time stamps: on each packet while the offloads
# are off (SACK blocks only go on packets that carry no payload).
HEADERS = 14 + 20 + 32
SEGMENT = 1500 - 20 - 32


def main(interface):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pass  # then gaps are longer, which the reader of the samples sees
    dev = os.open("/proc/net/dev", os.O_RDONLY)
    snmp = os.open("/proc/net/snmp", os.O_RDONLY)
    names = os.pread(snmp, 1 << 16, 0).partition(b"\nTcp: ")[2].split()
    retrans = names.index(b"RetransSegs")
    mark = f"{interface}:".encode()
    samples = []
    print("ready", flush=True)
    while not signal.sigtimedwait([signal.SIGTERM], 0.0005):
        before = time.monotonic_ns()
        text = os.pread(dev, 1 << 16, 0)
        tcp = os.pread(snmp, 1 << 16, 0)
        after = time.monotonic_ns()
        fields = text.partition(mark)[2].split(maxsplit=12)
        again = tcp.rpartition(b"\nTcp: ")[2].split()[retrans]
        samples.append(((before + after) // 2, int(fields[0]), int(fields[1]),
                        int(again), int(fields[11])))
    sys.stdout.write("".join("%d %d %d %d %d\n" % s for s in samples))


class Samples:
    """What a sampler printed, as series over its times."""

    def __init__(self, lines):
        rows = [tuple(map(int, line.split())) for line in lines
                if line != "ready"]
        self.times = [row[0] for row in rows]
        self.payload = [row[1] - HEADERS * row[2] for row in rows]
        # What was dropped before it was counted did not come twice.
        self.repeated = [SEGMENT * (row[3] - row[4]) for row in rows]

    def grown(self, series, start, end):
        """(growth from start to end, how uncertain that is)."""
        (a, u), (b, v) = self._at(series, start), self._at(series, end)
        return b - a, u + v

    def _at(self, series, when):
        i = bisect.bisect(self.times, when)
        assert 0 < i < len(self.times), "the sampler did not cover the run"
        gap = self.times[i] - self.times[i - 1]
        step = series[i] - series[i - 1]
        return (series[i - 1] + step * (when - self.times[i - 1]) / gap,
                abs(step))


def received(there, back, start, end):
    """(payload that came in once, how uncertain that is).

    Samples of the receiving end, and of the sending one: a path that drops
    nothing after its counters brings each retransmitted segment twice.
    """
    came, doubt = there.grown(there.payload, start, end)
    twice, more = back.grown(back.repeated, start, end)
    return came - twice, doubt + more


if __name__ == "__main__":
    main(sys.argv[1])
