"""The two halves of deploy/proofs/broker-sync.

    broker-sync.py load HOST:PORT N    appends N records with acks=all over eight concurrent connections
    broker-sync.py judge TRACE         reads the trace: every answer needs a sync of the partition's file
                                       that began after the batch was written and ended before the answer

It implements the few requests that it needs without a client library. So each answer on the socket can be
compared with the trace: the answer names the offset, and so does the first field of the written batch."""

import re
import socket
import struct
import sys
import threading

TOPIC = b"sync"
CONNECTIONS = 8


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def batch(value):
    record = b"\0\0\0\1" + bytes([len(value) * 2]) + value + b"\0"
    records = bytes([len(record) * 2]) + record
    checked = struct.pack(">hiqqqhii", 0, 0, 1, 1, -1, -1, -1, 1) + records
    return struct.pack(">qiibI", 0, 9 + len(checked), 0, 2, crc32c(checked)) + checked


class Connection:
    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), 30)

    def ask(self, key, version, body):
        request = struct.pack(">hhih", key, version, 1, -1) + body
        self.socket.sendall(struct.pack(">i", len(request)) + request)
        return self.receive(struct.unpack(">i", self.receive(4))[0])

    def receive(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                sys.exit("the broker closed the connection")
            data += piece
        return data


def name(text):
    return struct.pack(">h", len(text)) + text


def load(address, count):
    topic = name(TOPIC) + struct.pack(">ihii", 1, 1, 0, 0)
    Connection(address).ask(19, 2, struct.pack(">i", 1) + topic + struct.pack(">ib", 1000, 0))

    def append():
        connection = Connection(address)
        data = batch(b"x" * 40)
        partition = struct.pack(">iii", 1, 0, len(data)) + data
        body = struct.pack(">hhii", -1, -1, 1000, 1) + name(TOPIC) + partition
        for _ in range(count // CONNECTIONS):
            answer = connection.ask(0, 3, body)
            if struct.unpack_from(">h", answer, 22)[0] != 0:
                sys.exit(f"append failed: {answer.hex()}")

    threads = [threading.Thread(target=append) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


CALL = re.compile(r"^(\d+) +(\d+\.\d+) (\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+) +(\d+\.\d+) <\.\.\. (\w+) resumed>(.*)$")
TOOK = re.compile(r"<(\d+\.\d+)>$")


def calls(path):
    """Returns every call as (name, arguments, began, ended)."""
    begun = {}
    for line in open(path, errors="replace"):
        line = line.rstrip()
        resumed = RESUMED.match(line)
        if resumed and resumed[1] in begun:
            call, arguments, began = begun.pop(resumed[1])
            yield call, arguments, began, float(resumed[2])
            continue
        found = CALL.match(line)
        if not found:
            continue
        began = float(found[2])
        if "<unfinished" in line:
            begun[found[1]] = (found[3], found[4], began)
        elif took := TOOK.search(line):
            yield found[3], found[4], began, began + float(took[1])


def bytes_of(arguments):
    text = re.search(r'"((?:\\x[0-9a-f]{2})+)"', arguments)
    return bytes.fromhex(text[1].replace("\\x", "")) if text else b""


def hexadecimal(text):
    """Returns a path as strace -xx writes it."""
    return "".join(f"\\x{byte:02x}" for byte in text)


def judge(path):
    written, synced, answered = {}, [], []
    directory = hexadecimal(b"/" + TOPIC + b"-0.")
    for call, arguments, began, ended in calls(path):
        if call.startswith("pwrite") and directory in arguments and hexadecimal(b".log") in arguments:
            data = bytes_of(arguments)
            if len(data) >= 8:
                written[struct.unpack_from(">q", data)[0]] = ended
        elif call in ("fdatasync", "fsync") and directory in arguments:
            synced.append((began, ended))
        elif call.startswith("send"):
            data = bytes_of(arguments)
            if len(data) >= 36 and data[14:18] == TOPIC:
                answered.append((struct.unpack_from(">q", data, 28)[0], began))
    early = [
        offset
        for offset, sent in answered
        if not any(written.get(offset, sent) <= began and ended <= sent for began, ended in synced)
    ]
    print(f"{len(answered)} answers, {len(written)} batches written, {len(synced)} syncs")
    if not answered or len(written) < len(answered):
        sys.exit("the trace has no answers, or fewer writes than answers; check that it is a trace of the broker")
    if early:
        sys.exit(f"{len(early)} answers left before their sync ended, the first for offset {early[0]}")
    print("no answer left before the sync of its batch had returned")


if __name__ == "__main__":
    if sys.argv[1] == "load":
        load(sys.argv[2], int(sys.argv[3]))
    else:
        judge(sys.argv[2])
