"""What a reader of committed records sees, and who may write."""

from confluent_kafka import OFFSET_BEGINNING, OFFSET_INVALID, KafkaError, KafkaException, TopicPartition

from kit import check, equal, eventually, records, refused


def _transaction(k, producer, topic, sent, commits=True):
    producer.begin_transaction()
    k.send(producer, topic, sent)
    producer.commit_transaction(30) if commits else producer.abort_transaction(30)


def _numbers(k, topic, isolation="read_committed"):
    return [int(value) for value in k.values(topic, isolation=isolation)]


def committed_records_are_read_and_aborted_ones_are_not(k):
    topic = k.topic()
    producer = k.transactional()
    _transaction(k, producer, topic, records(5))
    _transaction(k, producer, topic, records(5, start=5), commits=False)
    _transaction(k, producer, topic, records(5, start=10))
    equal(_numbers(k, topic), [*range(5), *range(10, 15)], "committed records")
    equal(_numbers(k, topic, "read_uncommitted"), list(range(15)), "all records")


def markers_take_offsets(k):
    topic = k.topic()
    producer = k.transactional()
    _transaction(k, producer, topic, records(3))
    _transaction(k, producer, topic, records(3), commits=False)
    offsets = [m.offset() for m in k.read(topic)]
    equal(offsets, [0, 1, 2, 4, 5, 6], "offsets of records")
    equal(k.watermarks(topic), (0, 8), "watermarks")


def an_open_transaction_holds_back_what_comes_after_it(k):
    topic = k.topic()
    slow = k.transactional()
    k.send(k.producer(), topic, records(3))
    slow.begin_transaction()
    k.send(slow, topic, records(3, start=3))
    k.send(k.producer(), topic, records(3, start=6))
    equal(_numbers(k, topic), [0, 1, 2], "records before the open transaction")
    equal(_numbers(k, topic, "read_uncommitted"), list(range(9)), "all records")
    slow.commit_transaction(30)
    equal(_numbers(k, topic), list(range(9)), "records after the commit")


def an_abort_leaves_the_records_of_others(k):
    topic = k.topic()
    slow = k.transactional()
    slow.begin_transaction()
    k.send(slow, topic, records(3))
    other = k.transactional()
    _transaction(k, other, topic, records(3, start=3))
    equal(_numbers(k, topic), [], "records before the end of the first transaction")
    slow.abort_transaction(30)
    equal(_numbers(k, topic), [3, 4, 5], "records of the other transaction")


def transactions_of_two_producers_interleave(k):
    topic = k.topic()
    one, two = k.transactional(), k.transactional()
    expected = []
    for round in range(12):
        one.begin_transaction()
        two.begin_transaction()
        number = round * 6
        k.send(one, topic, records(2, start=number))
        k.send(two, topic, records(2, start=number + 2))
        k.send(one, topic, records(2, start=number + 4))
        if round % 2 == 0:
            one.commit_transaction(30)
            expected += [number, number + 1, number + 4, number + 5]
        else:
            one.abort_transaction(30)
        if round % 3 == 0:
            two.commit_transaction(30)
            expected += [number + 2, number + 3]
        else:
            two.abort_transaction(30)
    equal(_numbers(k, topic), sorted(expected), "committed records")


def a_transaction_over_many_partitions_is_one(k):
    topics = [k.topic(6), k.topic(2)]
    producer = k.transactional()
    places = [(topics[0], p) for p in range(6)] + [(topics[1], p) for p in range(2)]
    for commits in (False, True):
        producer.begin_transaction()
        for topic, partition in places:
            k.send(producer, topic, [{"value": b"%d" % commits, "partition": partition}])
        producer.commit_transaction(30) if commits else producer.abort_transaction(30)
    for topic, partition in places:
        equal(k.values(topic, partition), [b"1"], f"committed records of {topic}/{partition}")


def an_empty_transaction_can_be_committed_and_aborted(k):
    topic = k.topic()
    producer = k.transactional()
    _transaction(k, producer, topic, [])
    _transaction(k, producer, topic, [], commits=False)
    _transaction(k, producer, topic, records(1))
    equal(_numbers(k, topic), [0], "committed records")


def a_second_producer_of_the_same_id_fences_the_first(k):
    topic = k.topic()
    name = k.name("x")
    first = k.transactional(name)
    first.begin_transaction()
    k.send(first, topic, records(3))
    second = k.transactional(name)
    equal(_numbers(k, topic), [], "records of the transaction that the second aborted")
    codes = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
    error = refused(codes, lambda: first.commit_transaction(30), "the first one's commit")
    check(error.fatal(), f"{error!r} is not fatal")
    _transaction(k, second, topic, records(3, start=3))
    equal(_numbers(k, topic), [3, 4, 5], "committed records")


def a_fenced_producer_cannot_write_either(k):
    topic = k.topic()
    name = k.name("x")
    first = k.transactional(name)
    _transaction(k, first, topic, records(1))
    second = k.transactional(name)
    _transaction(k, second, topic, records(1, start=1))

    def write():
        first.begin_transaction()
        k.send(first, topic, records(1, start=2))
        first.commit_transaction(30)

    codes = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED, KafkaError._PURGE_QUEUE)
    refused((*codes, KafkaError._STATE, KafkaError._FATAL), write, "the first one's transaction")
    equal(_numbers(k, topic), [0, 1], "committed records")


def what_a_dead_producer_left_open_is_aborted_by_its_successor(k):
    topic = k.topic()
    name = k.name("x")
    left = k.transactional(name)
    left.begin_transaction()
    k.send(left, topic, records(3))
    k.send(k.producer(), topic, records(1, start=9))
    equal(_numbers(k, topic), [], "records while it is open")
    k.transactional(name)
    equal(_numbers(k, topic), [9], "records once the successor is there")


def a_transaction_that_takes_too_long_is_aborted(k):
    topic = k.topic()
    slow = k.transactional(transaction_timeout_ms=1500)
    slow.begin_transaction()
    k.send(slow, topic, records(3))
    k.send(k.producer(), topic, records(1, start=9))
    eventually(lambda: _numbers(k, topic) == [9], "the abort by time", limit=60, every=1)
    try:
        slow.commit_transaction(30)
    except KafkaException:
        pass
    else:
        raise AssertionError("the aborted transaction was committed")


def offsets_in_a_transaction_are_committed_with_it(k):
    topic = k.topic(2)
    k.send(k.producer(), topic, records(10))
    consumer = k.consumer()
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    eventually(lambda: consumer.poll(0.5), "a record")
    producer = k.transactional()
    group = consumer.consumer_group_metadata()

    def committed():
        found = consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], timeout=20)
        return [(place.offset, place.metadata) for place in found]

    def move(offset, commits):
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, offset, f"at {offset}")], group, 30)
        producer.commit_transaction(30) if commits else producer.abort_transaction(30)

    move(3, commits=False)
    equal([offset for offset, _ in committed()], [OFFSET_INVALID] * 2, "offsets after an abort")
    move(5, commits=True)
    equal(committed()[0], (5, "at 5"), "the offset after a commit")
    move(7, commits=False)
    equal(committed()[0], (5, "at 5"), "the offset after another abort")


def offsets_of_an_open_transaction_make_a_reader_of_stable_ones_wait(k):
    topic = k.topic()
    consumer = k.consumer(isolation_level="read_committed")
    producer = k.transactional()
    place = [TopicPartition(topic, 0)]
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    producer.begin_transaction()
    group = consumer.consumer_group_metadata()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 2)], group, 30)
    try:
        found = consumer.committed(place, timeout=2)
    except KafkaException as problem:
        equal(problem.args[0].code(), KafkaError._TIMED_OUT, "the answer while it is open")
    else:
        check(found[0].error, f"offset {found[0].offset} was told while a transaction was about to change it")
    producer.commit_transaction(30)
    equal(consumer.committed(place, timeout=20)[0].offset, 2, "the offset after the commit")


def offsets_of_a_member_that_was_replaced_are_refused(k):
    topic = k.topic()
    k.send(k.producer(), topic, records(10))
    group = k.name("g")
    zombie = k.consumer(group)
    zombie.subscribe([topic])
    eventually(lambda: zombie.poll(0.2), "a record")
    stale = zombie.consumer_group_metadata()
    k.close(zombie)
    successor = k.consumer(group)
    successor.subscribe([topic])
    eventually(lambda: successor.poll(0.2), "a record")

    producer = k.transactional()
    producer.begin_transaction()
    k.send(producer, topic, records(1, start=90))
    try:
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, 5)], stale, 30)
        producer.commit_transaction(30)
    except KafkaException as problem:
        check(problem.args[0].txn_requires_abort(), f"{problem.args[0]!r} does not ask for an abort")
    else:
        raise AssertionError("the offsets of a stale generation were taken")
    producer.abort_transaction(30)
    [found] = successor.committed([TopicPartition(topic, 0)], timeout=20)
    check(found.offset < 0, f"the zombie's offset {found.offset} was committed")
    check(90 not in _numbers(k, topic), "the zombie's record was committed")


def a_committed_transaction_and_an_aborted_one_stay_so_after_a_crash(k):
    topic = k.topic()
    producer = k.transactional()
    for number in range(30):
        _transaction(k, producer, topic, records(2, start=number * 2), commits=number % 3 == 0)
    expected = [number for number in range(60) if number // 2 % 3 == 0]
    yield "restart"
    equal(_numbers(k, topic), expected, "committed records")
    equal(_numbers(k, topic, "read_uncommitted"), list(range(60)), "all records")
    _transaction(k, producer, topic, records(1, start=60))
    equal(_numbers(k, topic), [*expected, 60], "committed records after one more")


# The restart comes when every behaviour is ready for it. With Kafka's default settings one of them waits five minutes
# for retention, longer than the usual limit of a transaction.
OPEN_OVER_A_CRASH = {"transaction_timeout_ms": 900_000}


def a_transaction_open_over_a_crash_can_be_committed(k):
    topic = k.topic(2)
    producer = k.transactional(**OPEN_OVER_A_CRASH)
    producer.begin_transaction()
    k.send(producer, topic, records(5))
    yield "restart"
    equal(_numbers(k, topic), [], "records while it is open")
    k.send(producer, topic, records(5, start=5))
    k.send(producer, topic, [{**r, "partition": 1} for r in records(5, start=10)])
    producer.commit_transaction(30)
    equal(_numbers(k, topic), list(range(10)), "records of the first partition")
    equal(len(k.values(topic, 1)), 5, "records of the second")


def a_transaction_open_over_a_crash_can_be_aborted(k):
    topic = k.topic()
    producer = k.transactional(**OPEN_OVER_A_CRASH)
    producer.begin_transaction()
    k.send(producer, topic, records(5))
    yield "restart"
    producer.abort_transaction(30)
    _transaction(k, producer, topic, records(1, start=9))
    equal(_numbers(k, topic), [9], "committed records")


def a_successor_after_a_crash_aborts_what_was_left_open(k):
    topic = k.topic()
    name = k.name("x")
    left = k.transactional(name, **OPEN_OVER_A_CRASH)
    left.begin_transaction()
    k.send(left, topic, records(5))
    yield "restart"
    k.transactional(name)
    k.send(k.producer(), topic, records(1, start=9))
    equal(_numbers(k, topic), [9], "committed records")
    try:
        left.commit_transaction(30)
    except KafkaException as problem:
        check(problem.args[0].fatal(), f"{problem.args[0]!r} is not fatal")
    else:
        raise AssertionError("the fenced producer committed")


def offsets_of_transactions_survive_a_crash(k):
    topic = k.topic()
    consumer = k.consumer()
    producer = k.transactional()
    group = consumer.consumer_group_metadata()
    for offset, commits in ((3, True), (5, False)):
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, offset, "m")], group, 30)
        producer.commit_transaction(30) if commits else producer.abort_transaction(30)
    yield "restart"
    [found] = consumer.committed([TopicPartition(topic, 0)], timeout=20)
    equal((found.offset, found.metadata), (3, "m"), "the committed offset")
