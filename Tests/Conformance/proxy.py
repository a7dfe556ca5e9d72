"""A network that loses answers: stands before the broker on this machine and, once, lets a request
through and keeps the answer, so that the client has to ask again."""

import socket
import struct
import threading

from kit import Skip

PRODUCE, OFFSET_COMMIT, END_TXN = 0, 8, 26


class LostAnswer:
    """Loses the answer to the next request of this kind once `arm` was called."""

    def __init__(self, kafka, api):
        self.api = api
        self.lost = threading.Event()
        self._armed = threading.Event()
        broker = next(iter(kafka.admin.list_topics(timeout=20).brokers.values()))
        self._broker = (broker.host, broker.port)
        self._server = socket.socket()
        try:
            self._server.bind((broker.host, 0))
        except OSError:
            raise Skip(f"the broker at {broker.host} is on another machine") from None
        self._server.listen()
        self.bootstrap = f"{broker.host}:{self._server.getsockname()[1]}"
        # Where the broker says its own address, it has to say this one: a string, then four bytes.
        host = broker.host.encode()
        self._says = host + struct.pack(">i", broker.port)
        self._shall_say = host + struct.pack(">i", self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self):
        self._armed.set()

    def _accept(self):
        while True:
            client, _ = self._server.accept()
            broker = socket.create_connection(self._broker)
            doomed = set()
            threading.Thread(target=self._requests, args=(client, broker, doomed), daemon=True).start()
            threading.Thread(target=self._answers, args=(broker, client, doomed), daemon=True).start()

    def _requests(self, client, broker, doomed):
        for frame in _frames(client):
            api, _, correlation = struct.unpack_from(">hhi", frame, 4)
            if api == self.api and self._armed.is_set():
                self._armed.clear()
                doomed.add(correlation)
            _send(broker, frame)
        _close(broker)

    def _answers(self, broker, client, doomed):
        for frame in _frames(broker):
            if struct.unpack_from(">i", frame, 4)[0] in doomed:
                self.lost.set()
                break
            _send(client, frame.replace(self._says, self._shall_say))
        _close(client)


def _frames(connection):
    rest = b""
    while True:
        try:
            some = connection.recv(1 << 16)
        except OSError:
            return
        if not some:
            return
        rest += some
        while len(rest) >= 4 and len(rest) >= 4 + struct.unpack_from(">i", rest)[0]:
            end = 4 + struct.unpack_from(">i", rest)[0]
            yield rest[:end]
            rest = rest[end:]


def _send(connection, frame):
    try:
        connection.sendall(frame)
    except OSError:
        pass


def _close(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
