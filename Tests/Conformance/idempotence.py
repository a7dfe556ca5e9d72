"""A producer that asks again never writes twice."""

import threading

from confluent_kafka import TopicPartition

from kit import Kafka, check, equal, eventually, records
from proxy import END_TXN, OFFSET_COMMIT, PRODUCE, LostAnswer


def a_batch_whose_answer_was_lost_is_written_once(k):
    topic = k.topic()
    network = LostAnswer(k, PRODUCE)
    producer = Kafka(network.bootstrap).producer(enable_idempotence=True, retry_backoff_ms=50)
    k.send(producer, topic, records(10))
    network.arm()
    offsets = [m.offset() for m in k.send(producer, topic, records(10, start=10))]
    check(network.lost.is_set(), "no answer was lost")
    equal(offsets, list(range(10, 20)), "offsets as acknowledged the second time")
    k.send(producer, topic, records(10, start=20))
    equal(k.values(topic), [r["value"] for r in records(30)], "values")


def many_batches_in_flight_keep_their_order_over_a_lost_answer(k):
    topic = k.topic()
    network = LostAnswer(k, PRODUCE)
    producer = Kafka(network.bootstrap).producer(enable_idempotence=True, batch_num_messages=10, retry_backoff_ms=20)
    k.send(producer, topic, records(1))
    network.arm()
    k.send(producer, topic, records(1000, start=1))
    check(network.lost.is_set(), "no answer was lost")
    equal(k.values(topic), [r["value"] for r in records(1001)], "values")


def a_commit_of_a_transaction_whose_answer_was_lost_stands(k):
    topic = k.topic()
    network = LostAnswer(k, END_TXN)
    producer = Kafka(network.bootstrap).transactional()
    for start in (0, 5):
        producer.begin_transaction()
        k.send(producer, topic, records(5, start=start))
        network.arm()
        producer.commit_transaction(30)
        check(network.lost.is_set(), "no answer was lost")
        network.lost.clear()
    equal(k.values(topic), [r["value"] for r in records(10)], "values")


def a_commit_of_offsets_whose_answer_was_lost_stands(k):
    topic = k.topic()
    network = LostAnswer(k, OFFSET_COMMIT)
    other = Kafka(network.bootstrap)
    consumer = other.consumer(k.name("g"))
    place = TopicPartition(topic, 0, 3, "three")
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    network.arm()
    eventually(lambda: consumer.commit(offsets=[place], asynchronous=False), "the commit succeeds")
    [found] = consumer.committed([TopicPartition(topic, 0)], timeout=20)
    equal((found.offset, found.metadata), (3, "three"), "the committed offset")
    other.close(consumer)


def two_producers_on_one_partition_are_told_apart(k):
    topic = k.topic()
    first, second = k.producer(enable_idempotence=True), k.producer(enable_idempotence=True)
    for round in range(5):
        k.send(first, topic, [{"value": b"a%d" % round}])
        k.send(second, topic, [{"value": b"b%d" % round}])
    equal(k.values(topic), [b"%c%d" % (c, n) for n in range(5) for c in b"ab"], "values")


def a_producer_that_works_through_a_crash_writes_each_record_once(k):
    topic = k.topic()
    producer = k.producer(enable_idempotence=True, batch_num_messages=50, compression_type="zstd")
    failures = []
    produced = 0
    stop = threading.Event()

    def work():
        nonlocal produced
        while not stop.is_set():
            value = b"%08d" % produced
            producer.produce(topic, value, partition=0, on_delivery=lambda e, m: failures.append(e) if e else None)
            produced += 1
            producer.poll(0.002)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    eventually(lambda: produced > 200, "two hundred records")
    yield "restart"
    before = produced
    eventually(lambda: produced > before + 200, "two hundred more records")
    stop.set()
    worker.join()
    equal(producer.flush(60), 0, "records not acknowledged")
    equal(failures, [], "failures")
    equal(k.values(topic), [b"%08d" % number for number in range(produced)], "values")


def a_sequence_goes_on_after_a_crash_while_idle(k):
    topic = k.topic()
    producer = k.producer(enable_idempotence=True)
    k.send(producer, topic, records(20))
    yield "restart"
    k.send(producer, topic, records(20, start=20))
    equal(k.values(topic), [r["value"] for r in records(40)], "values")
