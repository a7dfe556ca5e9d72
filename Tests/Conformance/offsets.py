"""Where records lie: watermarks, times, positions that do not exist."""

import time

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, TopicPartition

from kit import check, equal, eventually, recently, records, refused


def watermarks_are_the_first_offset_and_the_next(k):
    topic = k.topic(2)
    equal(k.watermarks(topic), (0, 0), "watermarks of an empty partition")
    k.send(k.producer(), topic, records(7))
    equal(k.watermarks(topic), (0, 7), "watermarks of seven records")
    equal(k.watermarks(topic, 1), (0, 0), "watermarks of the other partition")


def a_time_finds_the_first_record_that_is_not_older(k):
    topic = k.topic()
    base = recently()
    producer = k.producer()
    for group in range(5):
        k.send(producer, topic, [{"value": b"v", "timestamp": base + group * 1000 + n} for n in range(10)])

    consumer = k.consumer()

    def at(milliseconds):
        [found] = consumer.offsets_for_times([TopicPartition(topic, 0, milliseconds)], timeout=20)
        check(not found.error, f"error {found.error}")
        return found.offset

    equal(at(base), 0, "the first time exactly")
    equal(at(base - 5000), 0, "a time before all")
    equal(at(base + 2000), 20, "the first of a batch")
    equal(at(base + 2003), 23, "a record within a batch")
    equal(at(base + 2500), 30, "a time between two batches")
    equal(at(base + 4009), 49, "the last time exactly")
    equal(at(base + 4010), OFFSET_END, "a time after all")


def an_offset_beyond_the_end_is_an_error_where_no_reset_is_wanted(k):
    topic = k.topic()
    k.send(k.producer(), topic, records(5))
    consumer = k.consumer(auto_offset_reset="error")
    consumer.assign([TopicPartition(topic, 0, 1000)])
    message = eventually(lambda: consumer.poll(0.5), "an event")
    equal(message.error() and message.error().code(), KafkaError._AUTO_OFFSET_RESET, "the event")


def an_offset_beyond_the_end_goes_where_the_reset_says(k):
    topic = k.topic()
    k.send(k.producer(), topic, records(5))
    consumer = k.consumer(auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0, 1000)])
    message = eventually(lambda: consumer.poll(0.5), "a record")
    equal((message.error(), message.offset()), (None, 0), "the record")


def reading_starts_where_it_is_told_also_within_a_batch(k):
    topic = k.topic()
    k.send(k.producer(linger_ms=100), topic, records(1000))
    for start in (0, 1, 499, 998, 999):
        equal([m.offset() for m in k.read(topic, offset=start)], list(range(start, 1000)), f"offsets from {start}")
    equal(k.read(topic, offset=1000), [], "records from the end")


def a_seek_goes_back_and_forth(k):
    topic = k.topic()
    k.send(k.producer(), topic, records(100))
    consumer = k.consumer()
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    equal(eventually(lambda: consumer.poll(0.5), "a record").offset(), 0, "the first record")
    for place in (90, 10, 50):
        consumer.seek(TopicPartition(topic, 0, place))
        equal(eventually(lambda: consumer.poll(0.5), "a record").offset(), place, "the record after the seek")


def a_waiting_fetch_is_answered_as_soon_as_there_is_a_record(k):
    topic = k.topic()
    consumer = k.consumer(fetch_wait_max_ms=10000, socket_timeout_ms=30000)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    check(consumer.poll(1) is None, "an empty topic has no record")
    producer = k.producer()
    began = time.monotonic()
    k.send(producer, topic, records(1))
    message = consumer.poll(9)
    check(message is not None and not message.error(), "no record came")
    check(time.monotonic() - began < 5, f"the record took {time.monotonic() - began:.1f} s")


def a_position_with_its_leader_epoch_is_validated_and_goes_on(k):
    topic = k.topic()
    k.send(k.producer(), topic, records(20))
    first = k.read(topic)[0]
    epoch = first.leader_epoch()
    check(epoch is not None and epoch >= 0, f"records carry no leader epoch: {epoch}")
    consumer = k.consumer()
    consumer.assign([TopicPartition(topic, 0, 5, "", epoch)])
    equal(eventually(lambda: consumer.poll(0.5), "a record").offset(), 5, "the first record")


def a_missing_topic_and_a_missing_partition_are_errors(k):
    missing = k.name()
    consumer = k.consumer(topic_metadata_propagation_max_ms=500, topic_metadata_refresh_fast_interval_ms=100)
    consumer.subscribe([missing])
    message = eventually(lambda: consumer.poll(0.5), "an event")
    equal(message.error() and message.error().code(), KafkaError.UNKNOWN_TOPIC_OR_PART, "the event")
    topic = k.topic(2)
    record = {"value": b"v", "partition": 7}
    refused(KafkaError._UNKNOWN_PARTITION, lambda: k.send(k.producer(), topic, [record]), "to write to partition 7")


def times_are_found_after_a_crash(k):
    topic = k.topic()
    base = recently()
    k.send(k.producer(), topic, [{"value": b"v", "timestamp": base + n * 10} for n in range(500)])
    yield "restart"
    consumer = k.consumer()
    for wanted in (0, 1, 250, 499):
        place = TopicPartition(topic, 0, base + wanted * 10)
        [found] = consumer.offsets_for_times([place], timeout=20)
        equal(found.offset, wanted, f"the record of time {wanted}")


def a_consumer_goes_on_where_it_was_when_the_broker_is_back(k):
    topic = k.topic()
    producer = k.producer()
    k.send(producer, topic, records(10))
    consumer = k.consumer()
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    seen = []

    def read(count):
        for message in consumer.consume(100, 0.5):
            if not message.error():
                seen.append(message.offset())
        return len(seen) >= count

    eventually(lambda: read(10), "ten records")
    yield "restart"
    k.send(producer, topic, records(10))
    eventually(lambda: read(20), "twenty records", limit=40)
    equal(seen, list(range(20)), "offsets, each once")
