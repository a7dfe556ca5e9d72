"""Groups that grow, shrink, lose members and take them back."""

import signal
import subprocess

from confluent_kafka import KafkaError

from kit import Member, check, equal, eventually, records


def _settled(members, count):
    """Every partition has one member, and everybody has some."""

    def fact():
        held = [place for member in members for place in member.assigned]
        return len(held) == count and len(set(held)) == count and all(m.assigned for m in members)

    eventually(fact, f"{len(members)} members share {count} partitions", limit=40)


def _grow_and_shrink(k, strategy):
    topic = k.topic(6)
    group = k.name("g")
    settings = {"partition_assignment_strategy": strategy}
    one = Member(k, group, [topic], **settings)
    _settled([one], 6)
    two = Member(k, group, [topic], **settings)
    _settled([one, two], 6)
    three = Member(k, group, [topic], **settings)
    _settled([one, two, three], 6)
    equal([len(m.assigned) for m in (one, two, three)], [2, 2, 2], "partitions of each member")
    producer = k.producer()
    for partition in range(6):
        k.send(producer, topic, [{**r, "partition": partition} for r in records(10)])
    members = [one, two, three]
    eventually(lambda: sum(len(m.messages) for m in members) >= 60, "all records are read")
    seen = [(m.partition(), m.offset()) for member in members for m in member.messages]
    equal(len(set(seen)), len(seen), "records read, each once")
    two.leave()
    _settled([one, three], 6)
    three.leave()
    _settled([one], 6)
    lost = set(one.revoked)
    one.leave()
    return lost


def a_range_group_grows_and_shrinks(k):
    _grow_and_shrink(k, "range")


def a_cooperative_group_grows_and_shrinks_and_keeps_what_it_can(k):
    lost = _grow_and_shrink(k, "cooperative-sticky")
    # From six partitions to three, to two, and back: the last two were never taken away.
    equal(len(lost), 4, "partitions that the first member had to give away")


def a_cooperative_member_keeps_reading_what_it_keeps(k):
    topic = k.topic(4)
    group = k.name("g")
    settings = {"partition_assignment_strategy": "cooperative-sticky"}
    one = Member(k, group, [topic], **settings)
    _settled([one], 4)
    two = Member(k, group, [topic], **settings)
    _settled([one, two], 4)
    equal(len(one.revoked), 2, "partitions that moved")
    equal(one.revoked & one.assigned, set(), "partitions that moved and came back")
    equal(one.revoked, two.assigned, "partitions of the new member")
    one.leave()
    two.leave()


def a_group_reads_several_topics(k):
    topics = [k.topic(2), k.topic(2)]
    group = k.name("g")
    one, two = Member(k, group, topics), Member(k, group, topics)
    _settled([one, two], 4)
    one.leave()
    _settled([two], 4)
    two.leave()


def a_static_member_comes_back_without_a_rebalance(k):
    topic = k.topic(4)
    group = k.name("g")

    def join(name):
        return Member(k, group, [topic], group_instance_id=name, session_timeout_ms=30000)

    one = join("one")
    _settled([one], 4)
    two = join("two")
    _settled([one, two], 4)
    before, kept = one.assignments, set(two.assigned)
    two.leave()
    again = join("two")
    eventually(lambda: again.assigned, "the member's partitions", limit=30)
    equal(again.assigned, kept, "the member's partitions")
    equal(one.assignments, before, "assignments of the other member")
    # The first one to join leads the group; it may go and come as well.
    kept = set(one.assigned)
    before = again.assignments
    one.leave()
    leader = join("one")
    eventually(lambda: leader.assigned, "the leader's partitions", limit=30)
    equal(leader.assigned, kept, "the leader's partitions")
    equal(again.assignments, before, "assignments of the other member")
    leader.leave()
    again.leave()


def a_second_static_member_of_the_same_name_fences_the_first(k):
    topic = k.topic(2)
    group = k.name("g")
    one = Member(k, group, [topic], group_instance_id="same")
    _settled([one], 2)
    two = Member(k, group, [topic], group_instance_id="same")
    eventually(lambda: len(two.assigned) == 2, "the second has the partitions", limit=30)
    codes = {KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL}
    eventually(lambda: codes & one.codes(), "the first is fenced", limit=30)
    one.pause()
    two.leave()


def _loses(k, killed_settings):
    topic = k.topic(2)
    group = k.name("g")
    one = Member(k, group, [topic])
    _settled([one], 2)
    settings = ["session.timeout.ms=6000", "heartbeat.interval.ms=500", *killed_settings]
    command = ["kcat", "-b", k.bootstrap, "-q", *[w for s in settings for w in ("-X", s)], "-G", group, topic]
    other = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: len(one.assigned) == 1, "the other member has its share", limit=40)
        other.send_signal(signal.SIGKILL)
        eventually(lambda: len(one.assigned) == 2, "the survivor has everything", limit=40)
    finally:
        other.kill()
        other.wait()
    one.leave()


def a_member_that_dies_loses_its_partitions_after_its_session(k):
    _loses(k, [])


def a_static_member_that_dies_loses_its_partitions_after_its_session(k):
    _loses(k, ["group.instance.id=mortal"])


def a_static_member_that_is_away_keeps_its_partitions_within_its_session(k):
    topic = k.topic(2)
    group = k.name("g")
    one = Member(k, group, [topic], group_instance_id="one", session_timeout_ms=30000)
    two = Member(k, group, [topic], group_instance_id="two", session_timeout_ms=30000)
    _settled([one, two], 2)
    before = one.assignments
    two.leave()
    k.send(k.producer(), topic, [{**r, "partition": p} for p in (0, 1) for r in records(5)])
    eventually(lambda: len(one.messages) == 5, "the first member's records")
    equal((len(one.assigned), one.assignments), (1, before), "the first member's share")
    one.leave()


def a_member_that_leaves_gives_its_partitions_back_at_once(k):
    topic = k.topic(2)
    group = k.name("g")
    one = Member(k, group, [topic], session_timeout_ms=45000, heartbeat_interval_ms=200)
    two = Member(k, group, [topic], session_timeout_ms=45000, heartbeat_interval_ms=200)
    _settled([one, two], 2)
    two.leave()
    eventually(lambda: len(one.assigned) == 2, "the first member has everything", limit=15)
    one.leave()


def a_group_with_no_common_assignor_refuses_the_newcomer(k):
    topic = k.topic()
    group = k.name("g")
    one = Member(k, group, [topic], partition_assignment_strategy="range")
    _settled([one], 1)
    two = Member(k, group, [topic], partition_assignment_strategy="cooperative-sticky")
    eventually(lambda: KafkaError.INCONSISTENT_GROUP_PROTOCOL in two.codes(), "the refusal", limit=30)
    equal(len(one.assigned), 1, "partitions of the first member")
    two.pause()
    one.leave()


def a_group_goes_on_after_a_crash(k):
    topic = k.topic(4)
    group = k.name("g")
    one, two = Member(k, group, [topic]), Member(k, group, [topic])
    _settled([one, two], 4)
    producer = k.producer()
    k.send(producer, topic, [{**r, "partition": p} for p in range(4) for r in records(10)])
    eventually(lambda: len(one.messages) + len(two.messages) == 40, "forty records")
    yield "restart"
    k.send(producer, topic, [{**r, "partition": p} for p in range(4) for r in records(10, start=10)])

    def all_read():
        return len({(m.partition(), m.offset()) for member in (one, two) for m in member.messages}) == 80

    eventually(all_read, "forty more records", limit=60)
    _settled([one, two], 4)
    one.leave()
    two.leave()


def static_members_go_on_after_a_crash_with_what_they_had(k):
    topic = k.topic(4)
    group = k.name("g")
    members = [Member(k, group, [topic], group_instance_id=n, session_timeout_ms=30000) for n in ("a", "b")]
    _settled(members, 4)
    before = [(m.assignments, set(m.assigned)) for m in members]
    yield "restart"
    k.send(k.producer(), topic, [{**r, "partition": p} for p in range(4) for r in records(5)])
    eventually(lambda: sum(len(m.messages) for m in members) == 20, "twenty records", limit=60)
    equal([(m.assignments, m.assigned) for m in members], before, "assignments")
    for member in members:
        member.leave()
