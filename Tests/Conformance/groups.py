"""Committed offsets, and groups as an operator sees them."""

from confluent_kafka import OFFSET_INVALID, ConsumerGroupTopicPartitions, KafkaError, TopicPartition

from kit import Member, check, equal, eventually, records, refused


def committed_offsets_carry_their_metadata(k):
    topic = k.topic(3)
    consumer = k.consumer()
    wanted = {0: (5, "five ü"), 1: (1 << 40, ""), 2: (0, "x" * 1000)}
    places = [TopicPartition(topic, p, offset, metadata) for p, (offset, metadata) in wanted.items()]
    consumer.commit(offsets=places, asynchronous=False)
    found = consumer.committed([TopicPartition(topic, p) for p in wanted], timeout=20)
    equal({p.partition: (p.offset, p.metadata or "") for p in found}, wanted, "committed offsets")


def a_later_commit_replaces_an_earlier_one_also_backwards(k):
    topic = k.topic()
    consumer = k.consumer()
    for offset in (5, 9, 2):
        consumer.commit(offsets=[TopicPartition(topic, 0, offset, f"m{offset}")], asynchronous=False)
        [found] = consumer.committed([TopicPartition(topic, 0)], timeout=20)
        equal((found.offset, found.metadata), (offset, f"m{offset}"), "the committed offset")


def groups_do_not_see_offsets_of_others(k):
    topic = k.topic()
    one, two = k.consumer(), k.consumer()
    one.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    equal(two.committed([TopicPartition(topic, 0)], timeout=20)[0].offset, OFFSET_INVALID, "the other's offset")


def a_consumer_goes_on_behind_the_committed_offset(k):
    topic = k.topic()
    k.send(k.producer(), topic, records(20))
    group = k.name("g")
    expected = 0
    for _ in range(3):
        consumer = k.consumer(group)
        consumer.subscribe([topic])
        message = eventually(lambda: consumer.poll(0.2), "a record", limit=30)
        equal(message.offset(), expected, "the first record")
        consumer.commit(message=message, asynchronous=False)
        k.close(consumer)
        expected += 1


def without_a_committed_offset_the_reset_decides(k):
    topic = k.topic()
    k.send(k.producer(), topic, records(5))
    earliest = k.consumer(auto_offset_reset="earliest")
    latest = k.consumer(auto_offset_reset="latest", enable_partition_eof=True)
    error = k.consumer(auto_offset_reset="error")
    for consumer in (earliest, latest, error):
        consumer.subscribe([topic])
    equal(eventually(lambda: earliest.poll(0.2), "an event", limit=30).offset(), 0, "the first record")
    end = eventually(lambda: latest.poll(0.2), "an event", limit=30)
    equal((end.error().code(), end.offset()), (KafkaError._PARTITION_EOF, 5), "the first event from the end")
    event = eventually(lambda: error.poll(0.2), "an event", limit=30)
    equal(event.error() and event.error().code(), KafkaError._AUTO_OFFSET_RESET, "the event")


def a_group_is_listed_and_described(k):
    topic = k.topic(2)
    group = k.name("g")
    member = Member(k, group, [topic], client_id="somebody")
    eventually(lambda: len(member.assigned) == 2, "an assignment", limit=30)

    def described():
        return k.admin.describe_consumer_groups([group], request_timeout=20)[group].result()

    found = eventually(lambda: (d := described()).state.name == "STABLE" and d, "a stable group")
    equal((found.partition_assignor, len(found.members)), ("range", 1), "assignor and members")
    equal(found.members[0].client_id, "somebody", "the member's client id")
    assigned = {(p.topic, p.partition) for p in found.members[0].assignment.topic_partitions}
    equal(assigned, {(topic, 0), (topic, 1)}, "the member's assignment")
    check(found.coordinator.port > 0, "the group has a coordinator")

    def listed():
        return {g.group_id: g for g in k.admin.list_consumer_groups(request_timeout=20).result().valid}

    check(group in listed(), "the group is listed")
    equal(listed()[group].state.name, "STABLE", "its listed state")
    member.leave()
    eventually(lambda: described().state.name == "EMPTY", "an empty group")


def a_group_is_deleted_when_it_is_empty_and_with_it_its_offsets(k):
    topic = k.topic()
    group = k.name("g")
    member = Member(k, group, [topic])
    eventually(lambda: member.assigned, "an assignment", limit=30)
    member.commit([TopicPartition(topic, 0, 3)])

    def delete():
        k.admin.delete_consumer_groups([group], request_timeout=20)[group].result()

    refused(KafkaError.NON_EMPTY_GROUP, delete, "to delete a group with a member")
    member.leave()
    delete()
    refused(KafkaError.GROUP_ID_NOT_FOUND, delete, "to delete it again")
    other = k.consumer(group)
    equal(other.committed([TopicPartition(topic, 0)], timeout=20)[0].offset, OFFSET_INVALID, "its offset")


def an_operator_reads_and_moves_offsets_of_a_group(k):
    topic = k.topic(2)
    group = k.name("g")
    k.consumer(group).commit(offsets=[TopicPartition(topic, 1, 8)], asynchronous=False)

    def listed():
        [future] = k.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
        return {(p.topic, p.partition): p.offset for p in future.result(20).topic_partitions if p.offset >= 0}

    equal(listed(), {(topic, 1): 8}, "offsets of the group")
    moved = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 1, 2), TopicPartition(topic, 0, 1)])
    [future] = k.admin.alter_consumer_group_offsets([moved]).values()
    check(not any(p.error for p in future.result(20).topic_partitions), "the move succeeds")
    equal(listed(), {(topic, 1): 2, (topic, 0): 1}, "offsets of the group")


def committed_offsets_survive_a_crash(k):
    topic = k.topic(4)
    group = k.name("g")
    consumer = k.consumer(group)
    for round in range(20):
        places = [TopicPartition(topic, p, round * 10 + p, f"r{round}") for p in range(4)]
        consumer.commit(offsets=places, asynchronous=False)
    yield "restart"
    found = k.consumer(group).committed([TopicPartition(topic, p) for p in range(4)], timeout=30)
    equal([(p.offset, p.metadata) for p in found], [(190 + p, "r19") for p in range(4)], "committed offsets")


def a_deleted_group_stays_deleted_after_a_crash(k):
    topic = k.topic()
    group = k.name("g")
    k.consumer(group).commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    k.admin.delete_consumer_groups([group], request_timeout=20)[group].result()
    yield "restart"
    found = k.consumer(group).committed([TopicPartition(topic, 0)], timeout=30)
    equal(found[0].offset, OFFSET_INVALID, "the committed offset")
