"""Many records in one partition."""

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from kit import check, equal

_COUNT = 250_000


def a_quarter_of_a_million_records_are_read_back_exactly(k):
    topic = k.topic()
    producer = k.producer(
        compression_type="lz4", linger_ms=20, queue_buffering_max_messages=400_000, enable_idempotence=True
    )
    failures = []
    for number in range(_COUNT):
        while True:
            try:
                producer.produce(
                    topic,
                    b"%08d" % number + bytes(number % 90),
                    partition=0,
                    on_delivery=lambda e, m: failures.append(e) if e else None,
                )
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
    equal(producer.flush(90), 0, "records not acknowledged")
    equal(failures, [], "failures")
    equal(k.watermarks(topic), (0, _COUNT), "watermarks")

    consumer = k.consumer(queued_max_messages_kbytes=8192)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    next_one = 0
    while next_one < _COUNT:
        batch = consumer.consume(10_000, 20)
        check(batch, f"no record after {next_one}")
        for message in batch:
            check(not message.error(), f"{message.error()}")
            expected = b"%08d" % next_one + bytes(next_one % 90)
            if message.offset() != next_one or message.value() != expected:
                raise AssertionError(f"record {next_one} is {message.offset()}: {message.value()[:20]}")
            next_one += 1
