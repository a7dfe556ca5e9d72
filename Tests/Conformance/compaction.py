"""Compacted topics keep the newest record of each key, where it was."""

import time

from kit import check, equal, eventually

_SETTINGS = {
    "cleanup.policy": "compact",
    "segment.ms": "300",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "500",
    "delete.retention.ms": "500",
}
# A broker looks for something to compact every 15 seconds by default, and tombstones take two rounds.
_LIMIT = 150


def _push(k, producer, topic, partition, number):
    """The newest segment is never compacted: another record closes it."""
    time.sleep(0.4)
    k.send(producer, topic, [{"key": b"push", "value": b"%d" % number, "partition": partition}])


def _fill(k, topic, partition, codec):
    """Forty keys, written five times; the last ten end as tombstones. Returns offsets by key."""
    producer = k.producer(compression_type=codec, linger_ms=20)
    newest = {}
    for round in range(5):
        sent = []
        for key in range(40):
            value = b"%d:%d" % (key, round) + bytes(200)
            if round == 4 and key >= 30:
                value = None
            sent.append({"key": b"key-%d" % key, "value": value, "partition": partition})
        for message in k.send(producer, topic, sent):
            newest[message.key()] = (message.offset(), message.value())
        _push(k, producer, topic, partition, round)
    return producer, newest


def _rows(k, topic, partition):
    return [m for m in k.read(topic, partition) if m.key() != b"push"]


def _compacted(k, topic, partition, codec):
    producer, newest = _fill(k, topic, partition, codec)
    pushes = 10

    def only_newest():
        nonlocal pushes
        pushes += 1
        _push(k, producer, topic, partition, pushes)
        found = _rows(k, topic, partition)
        places = {m.key(): (m.offset(), m.value()) for m in found}
        offsets = [m.offset() for m in found]
        check(offsets == sorted(offsets), "records changed their order")
        for key, (offset, value) in newest.items():
            if value is not None:
                check(places.get(key) == (offset, value), f"the newest record of {key} is lost or moved")
        return len(found) == len(places) and found

    eventually(only_newest, f"one record for each key ({codec})", limit=_LIMIT, every=0.5)

    def no_tombstones():
        found = only_newest()
        return found and all(m.value() is not None for m in found)

    eventually(no_tombstones, f"no tombstones ({codec})", limit=_LIMIT, every=0.5)
    equal(len(_rows(k, topic, partition)), 30, "keys left")
    return newest


def uncompressed_batches_are_compacted_and_tombstones_go(k):
    _compacted(k, k.topic(config=_SETTINGS), 0, "none")


def zstd_batches_are_compacted_and_tombstones_go(k):
    _compacted(k, k.topic(config=_SETTINGS), 0, "zstd")


def lz4_batches_are_compacted_and_tombstones_go(k):
    _compacted(k, k.topic(config=_SETTINGS), 0, "lz4")


def gzip_batches_are_compacted_and_tombstones_go(k):
    _compacted(k, k.topic(config=_SETTINGS), 0, "gzip")


def compaction_keeps_committed_records_and_drops_aborted_ones(k):
    topic = k.topic(config=_SETTINGS)
    producer = k.transactional()
    for round in range(6):
        producer.begin_transaction()
        k.send(producer, topic, [{"key": b"key-%d" % n, "value": b"%d" % round} for n in range(20)])
        producer.abort_transaction(30) if round % 2 else producer.commit_transaction(30)
    plain = k.producer()
    pushes = 0

    def only_newest():
        nonlocal pushes
        pushes += 1
        _push(k, plain, topic, 0, pushes)
        committed = {}
        for message in k.read(topic, isolation="read_committed"):
            committed[message.key()] = message.value()
        committed.pop(b"push")
        equal(committed, {b"key-%d" % n: b"4" for n in range(20)}, "newest committed values")
        return len(_rows(k, topic, 0)) == 20

    eventually(only_newest, "one record for each key", limit=_LIMIT, every=0.5)


def a_compacted_partition_is_the_same_after_a_crash(k):
    topic = k.topic(config=_SETTINGS)
    newest = _compacted(k, topic, 0, "zstd")
    yield "restart"
    live = {key: place for key, place in newest.items() if place[1] is not None}
    equal({m.key(): (m.offset(), m.value()) for m in _rows(k, topic, 0)}, live, "records")
    end = k.watermarks(topic)[1]
    [message] = k.send(k.producer(), topic, [{"key": b"key-1", "value": b"new"}])
    equal(message.offset(), end, "the next offset")
