# SPDX-License-Identifier: Apache-2.0
"""Other programs at a control or data port: strangers, fakes and a relay."""
import json
import socket
import struct
import threading

MAGIC = b"NPR1"


def connect(host, port):
    s = socket.create_connection((host, port), timeout=10)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def reset(sock):
    """Close with a reset instead of a FIN."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    sock.close()


def frame(message):
    """A message as the bytes of its frame."""
    body = json.dumps(message).encode()
    return MAGIC + struct.pack(">I", len(body)) + body


def read_exactly(sock, n):
    data = b""
    while len(data) < n:
        piece = sock.recv(n - len(data))
        if not piece:
            raise EOFError(data)
        data += piece
    return data


def read_frame(sock):
    """The next message, or EOFError."""
    head = read_exactly(sock, 8)
    assert head[:4] == MAGIC, head
    return json.loads(read_exactly(sock, struct.unpack(">I", head[4:])[0]))


class Fake:
    """A listener whose connections are handled by a function of the test."""

    def __init__(self, handle):
        self.handle = handle
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.socks = []
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        # shutdown() wakes the accept() of the thread, close() would not.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for s in list(self.socks):
            s.close()
        self.thread.join(10)

    def _serve(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.socks.append(sock)
            try:
                self.handle(sock)
            except (OSError, EOFError):
                pass


def capture_hello(run_client):
    """The hello that a client says when run_client(port) starts one."""
    got = []

    def handle(sock):
        got.append(read_frame(sock))
        sock.close()

    with Fake(handle) as fake:
        run_client(fake.port)
    return got[0]


class Relay:
    """
    Forwards connections to targets, as a NAT or a balancer does. The first
    reset of any of them tears all of them down at once.
    """

    def __init__(self, *targets):
        self.targets = targets
        self.listeners = [socket.create_server(("127.0.0.1", 0), backlog=1024)
                          for _ in targets]
        self.ports = [s.getsockname()[1] for s in self.listeners]
        self.socks, self.torn = [], False
        self.lock = threading.Lock()

    def __enter__(self):
        for listener, target in zip(self.listeners, self.targets):
            threading.Thread(target=self._serve, args=(listener, target),
                             daemon=True).start()
        return self

    def __exit__(self, *_):
        for s in self.listeners:
            s.shutdown(socket.SHUT_RDWR)
            s.close()
        self._tear()

    def _serve(self, listener, target):
        while True:
            try:
                near, _ = listener.accept()
                far = connect("127.0.0.1", target)
            except OSError:
                return
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            far.settimeout(None)
            with self.lock:
                self.socks += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(a, b),
                                 daemon=True).start()

    def _tear(self):
        with self.lock:
            self.torn = True
            for s in self.socks:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # gone already
                reset(s)
            self.socks = []

    def _pump(self, a, b):
        try:
            while data := a.recv(1 << 18):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except (ConnectionResetError, BrokenPipeError):
            self._tear()
        except OSError:
            pass  # torn down meanwhile
