# SPDX-License-Identifier: Apache-2.0
"""How each tool is run as a pair of processes, and what it says it did."""

import json
import math
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, 'build', 'release')
RESULTS = os.path.join(ROOT, 'build', 'bench')
BARE = os.path.join(BUILD, 'bare')
LAUNCH = os.path.join(BUILD, 'launch')
HOST = '127.0.0.1'
PATIENCE = 30  # seconds that anything may take beyond the test itself
MANY_FLOWS = 500  # above this napier limits what is unsent, so bare does too
NOTSENT_LOWAT = 131072
IPERF3_MOST = 128  # streams, a constant of iperf3


class Failed(Exception):
    """A run that gave no figure; the text says why."""


@dataclass(frozen=True)
class Work:
    """What is moved, the same for every tool."""
    flows: int = 1
    threads: int = 1
    size: int = 131072
    skip: bool = False  # the receiver discards instead of reading
    seconds: float = 1.0
    congestion: str = 'cubic'
    ops: int = 4  # transfers an event, for bare
    options: tuple = ()  # more for napier's client

    @property
    def whole_seconds(self):
        """For tools that know no fractions."""
        return math.ceil(self.seconds)

    @property
    def read_size(self):
        """What napier reads at a time unless told otherwise."""
        return 1 << 20 if self.skip else max(self.size, 65536)


def build():
    """Compile the helpers where they are missing or older than the source."""
    os.makedirs(BUILD, exist_ok=True)
    for program in (BARE, LAUNCH):
        source = os.path.join(HERE, os.path.basename(program) + '.c')
        if (os.path.exists(program) and
                os.path.getmtime(program) >= os.path.getmtime(source)):
            continue
        subprocess.run(
            [os.environ.get('CC', 'gcc'), '-std=c11', '-D_GNU_SOURCE', '-O2',
             '-Wall', '-Wextra', '-o', program, source, '-pthread'],
            check=True)


class Process:
    """One program under launch.c, its output in files so it never waits."""

    def __init__(self, command, cpus=None):
        self.command = command
        self.out = tempfile.TemporaryFile('w+')
        self.err = tempfile.TemporaryFile('w+')
        self.usage = {}
        self.text = ''
        self.pipe, theirs = os.pipe()
        try:
            self.launcher = subprocess.Popen(
                [LAUNCH, str(theirs), cpus or '-', *command],
                stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err,
                pass_fds=(theirs,))
        finally:
            os.close(theirs)
        self._listen(time.monotonic() + PATIENCE, 'pid')

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if 'status' not in self.usage:
            self.signal(signal.SIGKILL)
        self.launcher.wait()
        os.close(self.pipe)
        self.out.close()
        self.err.close()

    def _listen(self, deadline, key):
        """Read what the launcher tells until it has told KEY."""
        while key not in self.usage:
            left = max(0, deadline - time.monotonic())
            if not select.select([self.pipe], [], [], left)[0]:
                raise Failed(f'no end: {self}')
            chunk = os.read(self.pipe, 4096).decode()
            if not chunk:
                raise Failed(f'not started: {self}: {self.complaint()}')
            self.text += chunk
            pairs = re.findall(r'^(\w+)=(-?\d+)$', self.text, re.M)
            self.usage = {k: int(v) for k, v in pairs}

    def __str__(self):
        return ' '.join(self.command)

    def output(self):
        """What it has written to standard output until now."""
        self.out.seek(0)
        return self.out.read()

    def complaint(self):
        """The end of what it has written to standard error."""
        self.err.seek(0)
        return self.err.read()[-300:].strip()

    def running(self):
        return self.launcher.poll() is None

    def signal(self, number):
        """Signal the program itself, by its own pid."""
        if self.running() and 'pid' in self.usage:
            os.kill(self.usage['pid'], number)

    def key(self, name):
        """The value of name=, waited for."""
        deadline = time.monotonic() + PATIENCE
        while True:
            ended = not self.running()
            found = keys(self.output()).get(name)
            if found is not None:
                return found
            if ended or time.monotonic() > deadline:
                raise Failed(f'no {name}= from {self}: {self.complaint()}')
            time.sleep(0.005)

    def end(self, seconds=0, good=(0,)):
        """Wait for the end; the CPU seconds and peak KiB that it used."""
        self._listen(time.monotonic() + seconds + PATIENCE, 'status')
        if self.usage['status'] not in good:
            raise Failed(f"status {self.usage['status']}: {self}: "
                         f'{self.complaint()}')
        return {'cpu': self.usage['cpu_us'] / 1e6,
                'maxrss_kib': self.usage['maxrss_kib']}


def keys(text):
    """The key=value lines of TEXT, the last of each key."""
    return dict(re.findall(r'^([\w.]+)=(.*)$', text, re.M))


def free_port():
    """A port that nobody has at the moment."""
    with socket.socket() as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


def await_listener(process, port):
    """Wait until PORT is listened on, without connecting to it."""
    wanted = re.compile(rf':{port:04X} [0-9A-F:]+ 0A ')
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.running():
        for name in ('/proc/net/tcp', '/proc/net/tcp6'):
            with open(name, encoding='ascii') as f:
                if any(wanted.search(line) for line in f):
                    return
        time.sleep(0.01)
    raise Failed(f'does not listen: {process}: {process.complaint()}')


def result(client, server, gbps, gigabits):
    """
    The figures of one run. CPU time is that of both whole processes, so the
    gigabits it is divided by are those of their whole life too.
    """
    if gbps <= 0 or gigabits <= 0:
        raise Failed('nothing was moved')
    cpu = client['cpu'] + server['cpu']
    return {'gbps': gbps, 'gigabits': gigabits, 'cost': cpu / gigabits,
            'client': client, 'server': server}


class Napier:
    """The tool under test."""

    name = 'napier'

    def __init__(self, program):
        self.program = program

    def able(self, _work):
        return os.access(self.program, os.X_OK)

    def server(self, pin):
        return Process([self.program, '-C', '0', '-P', '0',
                        '--pin', pin or 'none', '--quiet'])

    def client(self, server, work, pin):
        """A client for SERVER, started when that listens."""
        command = [
            self.program, '-c', '-H', HOST,
            '-C', server.key('control_port'), '-P', server.key('port'),
            '-F', str(work.flows), '-T', str(work.threads),
            '-B', str(work.size), '-l', f'{work.seconds:g}',
            '--congestion-control', work.congestion,
            '--pin', pin or 'none', '--quiet', *work.options]
        if work.skip:
            command.append('--skip-rx-copy')
        return Process(command)

    def run(self, work, place):
        pin = place.pins(work.threads)
        with self.server(pin[1]) as s, self.client(s, work, pin[0]) as c:
            used = c.end(work.seconds), s.end()
            said = keys(c.output())
        gbps = float(said['remote_throughput']) / 1e9
        life = said.get('remote_rx_bytes_total')
        run = result(*used, gbps, float(life) * 8e-9 if life
                     else gbps * work.seconds)
        run['connect_seconds'] = float(said.get('connect_seconds', 'nan'))
        return run


class Bare:
    """The hand-written loop of bare.c."""

    name = 'bare'

    def able(self, _work):
        return True

    def run(self, work, place):
        common = ['--flows', str(work.flows), '--threads', str(work.threads),
                  '--ops', str(work.ops),
                  '--congestion-control', work.congestion]
        if work.flows > MANY_FLOWS:
            common += ['--notsent-lowat', str(NOTSENT_LOWAT)]
        pin = [['--pin', p] if p else [] for p in place.pins(work.threads)]
        trunc = ['--trunc'] if work.skip else []
        with Process([BARE, 'recv', *common, *pin[1], *trunc,
                      '--size', str(work.read_size),
                      '--seconds', f'{work.seconds:g}']) as s, \
             Process([BARE, 'send', *common, *pin[0],
                      '--port', s.key('port'),
                      '--size', str(work.size)]) as c:
            used = c.end(work.seconds), s.end()
            said = keys(s.output())
            connect = float(keys(c.output())['connect_seconds'])
        run = result(*used, float(said['throughput']) / 1e9,
                     float(said['rx_bytes_total']) * 8e-9)
        run['connect_seconds'] = connect
        return run


class Iperf3:
    """iperf3, all streams in one thread an end."""

    name = 'iperf3'

    def able(self, work):
        return (shutil.which('iperf3') and work.flows <= IPERF3_MOST and
                not work.skip)

    def run(self, work, place):
        port = str(free_port())
        cpus = place.sets(work.threads)
        with Process(['iperf3', '-s', '-1', '-p', port], cpus[1]) as s:
            await_listener(s, int(port))
            with Process(['iperf3', '-c', HOST, '-p', port, '-J',
                          '-P', str(work.flows), '-l', str(work.size),
                          '-t', str(work.whole_seconds),
                          '-C', work.congestion], cpus[0]) as c:
                used = c.end(work.seconds), s.end()
                got = json.loads(c.output())['end']['sum_received']
        return result(*used, got['bits_per_second'] / 1e9,
                      got['bytes'] * 8e-9)


class Iperf2:
    """iperf 2, a thread a flow."""

    name = 'iperf2'
    ROW = re.compile(r'^\[(.*)\] +[\d.]+-([\d.]+) sec +(\d+) Bytes', re.M)

    def able(self, work):
        return shutil.which('iperf') and not work.skip

    def run(self, work, place):
        port = str(free_port())
        cpus = place.sets(work.threads)
        some = ['-p', port, '-f', 'b', '-l', str(work.size)]
        if work.flows > 1:
            some.append('--sum-only')
        with Process(['iperf', '-s', '-B', HOST, *some], cpus[1]) as s:
            await_listener(s, int(port))
            with Process(['iperf', '-c', HOST, *some,
                          '-P', str(work.flows), '-t', f'{work.seconds:g}',
                          '-Z', work.congestion], cpus[0]) as c:
                used_c = c.end(work.seconds)
            # It serves for ever; asked once it still tells what it had.
            time.sleep(0.3)
            s.signal(signal.SIGINT)
            used_s = s.end()
            rows = self.ROW.findall(s.output())
        if work.flows > 1:
            rows = [r for r in rows if r[0] == f'SUM-{work.flows}']
        if not rows or float(rows[-1][1]) <= 0:
            raise Failed('iperf -s told no sum of all flows')
        seconds, count = float(rows[-1][1]), float(rows[-1][2])
        return result(used_c, used_s, count * 8e-9 / seconds, count * 8e-9)


class Neper:
    """neper, where NEPER_DIR names the folder of its programs."""

    name = 'neper'

    def __init__(self):
        self.program = os.path.join(os.environ.get('NEPER_DIR', '/nowhere'),
                                    'tcp_stream')

    def able(self, _work):
        return os.access(self.program, os.X_OK)

    def run(self, work, place):
        # Its -U puts thread i of either end on CPU i, which is `paired`.
        cpus = place.sets(work.threads)
        some = ['-C', str(free_port()), '-P', str(free_port()),
                '-F', str(work.flows), '-T', str(work.threads),
                '-B', str(work.size),
                '--congestion-control', work.congestion]
        if work.threads > 1 and place.name == 'paired':
            some.append('-U')
        if work.skip:
            some.append('--skip-rx-copy')
        with Process([self.program, *some], cpus[1]) as s:
            await_listener(s, int(some[1]))
            with Process([self.program, '-c', '-H', HOST, *some,
                          '-l', str(work.whole_seconds)],
                         cpus[0]) as c:
                used = c.end(work.seconds), s.end()
                gbps = float(keys(c.output())['remote_throughput']) / 1e9
        return result(*used, gbps, gbps * work.whole_seconds)
