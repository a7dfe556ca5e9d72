"""What one record carries, and how large it may be."""

import os
import time

from confluent_kafka import KafkaError

from kit import check, equal, recently, records, refused


def key_value_time_and_headers_arrive_as_sent(k):
    topic = k.topic()
    at = recently()
    headers = [("b", b"1"), ("a", b"\x00\xff"), ("b", b"2"), ("ü", "ö".encode())]
    k.send(k.producer(), topic, [{"key": b"k\x00", "value": b"v\xff", "timestamp": at, "headers": headers}])
    [message] = k.read(topic)
    equal((message.key(), message.value()), (b"k\x00", b"v\xff"), "key and value")
    equal(message.timestamp(), (1, at), "creation time")
    equal(message.headers(), headers, "headers in their order")


def null_and_empty_are_told_apart(k):
    topic = k.topic()
    pairs = [(None, b""), (b"", None), (b"", b""), (None, None)]
    k.send(k.producer(), topic, [{"key": key, "value": value} for key, value in pairs])
    equal([(m.key(), m.value()) for m in k.read(topic)], pairs, "keys and values")


def a_header_may_have_no_value_or_an_empty_one(k):
    topic = k.topic()
    headers = [("none", None), ("empty", b""), ("", b"no name")]
    k.send(k.producer(), topic, [{"value": b"v", "headers": headers}])
    equal(k.read(topic)[0].headers(), headers, "headers")


def offsets_are_told_to_the_producer_without_gaps(k):
    topic = k.topic()
    producer = k.producer()
    offsets = [m.offset() for _ in range(4) for m in k.send(producer, topic, records(100))]
    equal(offsets, list(range(400)), "offsets as acknowledged")
    equal([m.offset() for m in k.read(topic)], offsets, "offsets as read")


def every_kind_of_acknowledgement_stores_the_record(k):
    topic = k.topic(3)
    for partition, acks in enumerate(["0", "1", "all"]):
        k.send(k.producer(acks=acks), topic, [{**r, "partition": partition} for r in records(100)])
    for partition in range(3):
        # An unacknowledged record may still be on its way.
        end = time.monotonic() + 20
        while len(k.values(topic, partition)) < 100 and time.monotonic() < end:
            time.sleep(0.1)
        equal(len(k.values(topic, partition)), 100, f"records of partition {partition}")


def a_record_of_four_mebibytes_is_taken_where_the_topic_allows_it(k):
    topic = k.topic(config={"max.message.bytes": "4300000"})
    large = os.urandom(4 << 20)
    producer = k.producer(message_max_bytes=4300000)
    k.send(producer, topic, [{"value": b"before"}, {"value": large}, {"value": b"after"}])
    equal(k.values(topic), [b"before", large, b"after"], "values")
    equal(k.values(topic, fetch_message_max_bytes=1000), [b"before", large, b"after"], "values by small fetches")


def a_record_larger_than_the_topic_allows_is_refused_alone(k):
    topic = k.topic(config={"max.message.bytes": "10000"})
    producer = k.producer()
    refused(
        KafkaError.MSG_SIZE_TOO_LARGE,
        lambda: k.send(producer, topic, [{"value": os.urandom(20000)}]),
        "a record of 20,000 bytes",
    )
    k.send(producer, topic, [{"value": b"small"}])
    equal(k.values(topic), [b"small"], "values")


def a_record_without_a_key_is_refused_by_a_compacted_topic(k):
    topic = k.topic(config={"cleanup.policy": "compact"})
    producer = k.producer()
    refused(KafkaError.INVALID_RECORD, lambda: k.send(producer, topic, [{"value": b"v"}]), "a record without a key")
    k.send(producer, topic, [{"key": b"k", "value": b"v"}])
    equal(k.values(topic), [b"v"], "values")


def keys_choose_partitions_as_in_java(k):
    topic = k.topic(12)
    producer = k.producer(partitioner="murmur2_random")
    done = []
    for key in (b"a", b"kafka", b"app/u:1", "app/i:ü".encode()):
        producer.produce(topic, key=key, value=key, on_delivery=lambda e, m: done.append(m))
    equal(producer.flush(20), 0, "records not acknowledged")
    for message in done:
        check(message.partition() == _murmur2(message.key()) % 12, f"partition of {message.key()}")


def _murmur2(data):
    """The hash of Kafka's default partitioner, its sign bit cleared."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * m & mask
        word = (word ^ word >> 24) * m & mask
        h = h * m & mask ^ word
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


def acknowledged_records_are_there_after_a_crash(k):
    topic = k.topic(3)
    producer = k.producer()
    for partition in range(3):
        k.send(producer, topic, [{**r, "partition": partition} for r in records(2000, size=200)])
    yield "restart"
    for partition in range(3):
        equal(k.values(topic, partition), [r["value"] for r in records(2000, size=200)], f"partition {partition}")
    [message] = k.send(producer, topic, [{"value": b"next"}])
    equal(message.offset(), 2000, "the offset after the crash")
