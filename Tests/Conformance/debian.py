"""Debian's client, kcat 1.7.1 on librdkafka 2.0.2, as people use it by hand."""

import json

from kit import check, equal, recently, records


def kcat_lists_the_cluster(k):
    topic = k.topic(3)
    found = json.loads(k.kcat("-L", "-J"))
    [own] = [t for t in found["topics"] if t["topic"] == topic]
    equal(len(own["partitions"]), 3, "partitions")
    equal(len(found["brokers"]), 1, "brokers")


def kcat_writes_keys_headers_and_nulls(k):
    topic = k.topic()
    k.kcat("-P", "-t", topic, "-p", "0", "-K", ":", "-Z", "-H", "a=1", "-H", "b=2", given=b"k1:v1\nk2:\n")
    found = [(m.key(), m.value(), m.headers()) for m in k.read(topic)]
    headers = [("a", b"1"), ("b", b"2")]
    equal(found, [(b"k1", b"v1", headers), (b"k2", None, headers)], "records")


def kcat_reads_what_the_newest_client_writes(k):
    topic = k.topic()
    headers = [("h", b"x")]
    at = recently()
    k.send(k.producer(compression_type="zstd"), topic, [{"key": b"k", "value": b"v", "headers": headers, "timestamp": at}])
    printed = k.kcat("-C", "-t", topic, "-e", "-q", "-f", "%t %p %o %k %s %h %T")
    equal(printed, f"{topic} 0 0 k v h=x {at}".encode(), "the record")


def kcat_asks_for_offsets_by_time(k):
    topic = k.topic()
    base = recently()
    k.send(k.producer(), topic, [{"value": b"v", "timestamp": base + n * 100} for n in range(10)])
    answer = k.kcat("-Q", "-t", f"{topic}:0:{base + 450}").decode()
    check("offset 5" in answer, f"the answer is {answer!r}")


def kcat_reads_in_a_group(k):
    topic = k.topic(2)
    group = k.name("g")
    k.send(k.producer(), topic, [{**r, "partition": p} for p in (0, 1) for r in records(10)])
    options = ["-G", group, "-X", "auto.offset.reset=earliest", "-q", "-f", "%s\n"]
    equal(len(k.kcat(*options, "-c", "20", topic).split()), 20, "records of the first run")
    k.send(k.producer(), topic, records(1, start=99))
    equal(k.kcat(*options, "-c", "1", topic).split(), [b"00000099"], "records of the second run")


def kcat_sees_committed_records_only(k):
    topic = k.topic()
    producer = k.transactional()
    for number in range(4):
        producer.begin_transaction()
        k.send(producer, topic, records(2, start=number * 2))
        producer.commit_transaction(30) if number % 2 else producer.abort_transaction(30)
    printed = k.kcat("-C", "-t", topic, "-e", "-q", "-X", "isolation.level=read_committed", "-f", "%s\n")
    equal([int(line) for line in printed.split()], [2, 3, 6, 7], "committed records")


def kcat_writes_a_transaction(k):
    topic = k.topic()
    name = k.name("x")
    k.kcat("-P", "-t", topic, "-X", f"transactional.id={name}", given=b"a\nb\nc\n")
    equal(k.values(topic), [b"a", b"b", b"c"], "committed records")
