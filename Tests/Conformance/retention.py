"""Old records go, whole segments at a time, and what is left stays where it was."""

import os
import time

from confluent_kafka import KafkaError, TopicPartition

from kit import check, equal, eventually

# A broker with default settings looks every five minutes.
_LIMIT = 390
_SEGMENT = 1 << 20


def _start(k, topic):
    return k.watermarks(topic)[0]


def beyond_its_bytes_a_partition_loses_its_oldest_segments(k):
    topic = k.topic(config={"segment.bytes": str(_SEGMENT), "retention.bytes": str(2 * _SEGMENT)})
    sent = [os.urandom(10_000) for _ in range(800)]
    k.send(k.producer(), topic, [{"value": value} for value in sent])
    start = eventually(lambda: _start(k, topic), "the first segment is gone", limit=_LIMIT, every=1)
    found = k.read(topic)
    start = found[0].offset()
    equal([m.value() for m in found], sent[start:], "what is left")
    # A record takes a little more on disk than its value.
    check(len(found) * 10_100 >= 2 * _SEGMENT, f"{len(found)} records are fewer than the limit allows")
    equal(k.watermarks(topic)[1], 800, "the end")
    _errors_below(k, topic)


def _errors_below(k, topic):
    """What was removed is out of range: an error, or the first that is left."""
    strict = k.consumer(auto_offset_reset="error")
    strict.assign([TopicPartition(topic, 0, 0)])
    event = eventually(lambda: strict.poll(0.5), "an event")
    equal(event.error() and event.error().code(), KafkaError._AUTO_OFFSET_RESET, "the event")
    lax = k.consumer(auto_offset_reset="earliest")
    lax.assign([TopicPartition(topic, 0, 0)])
    equal(eventually(lambda: lax.poll(0.5), "a record").offset(), _start(k, topic), "the first record")


def after_their_time_records_go_and_younger_ones_stay(k):
    day = 86_400_000
    topic = k.topic(config={"segment.bytes": str(_SEGMENT), "retention.ms": str(day), "segment.ms": "3600000"})
    now = int(time.time() * 1000)
    old = [{"value": os.urandom(10_000), "timestamp": now - 3 * day + n} for n in range(250)]
    young = [{"value": os.urandom(10_000), "timestamp": now + n} for n in range(250)]
    producer = k.producer()
    k.send(producer, topic, old)
    k.send(producer, topic, young)
    eventually(lambda: _start(k, topic), "the first old segment is gone", limit=_LIMIT, every=1)
    start = _start(k, topic)
    check(start <= 250, f"{start - 250} young records are gone")
    found = k.read(topic)
    equal([m.value() for m in found[-250:]], [r["value"] for r in young], "the young records")
    equal(found[0].offset(), start, "the first record")


def where_retention_began_is_known_after_a_crash(k):
    topic = k.topic(config={"segment.bytes": str(_SEGMENT), "retention.bytes": str(_SEGMENT)})
    sent = [os.urandom(10_000) for _ in range(400)]
    k.send(k.producer(), topic, [{"value": value} for value in sent])
    eventually(lambda: _start(k, topic), "the first segment is gone", limit=_LIMIT, every=1)
    before = _start(k, topic)
    yield "restart"
    after, end = k.watermarks(topic)
    check(before <= after < 400, f"the start went from {before} to {after}")
    equal(end, 400, "the end")
    found = k.read(topic)
    equal([m.value() for m in found], sent[found[0].offset() :], "what is left")
