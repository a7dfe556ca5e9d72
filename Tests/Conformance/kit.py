"""What every behaviour uses: topics that go away, clients that log into the behaviour's own list, and
waiting for facts. Nothing here knows which broker answers."""

import itertools
import logging
import subprocess
import threading
import time
import uuid

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

RUN = uuid.uuid4().hex[:8]
_numbers = itertools.count(1)


class Skip(Exception):
    """The behaviour cannot be looked at here, and the reason why."""


def check(fact, what):
    if not fact:
        raise AssertionError(what)


def equal(seen, expected, what):
    if seen != expected:
        raise AssertionError(f"{what}: expected {shorten(expected)}, seen {shorten(seen)}")


def shorten(value):
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:300]} … {text[-80:]} ({len(text)} characters)"


def refused(code, call, what):
    """The call fails with one of Kafka's own error codes; returns the error."""
    codes = code if isinstance(code, tuple) else (code,)
    try:
        call()
    except KafkaException as problem:
        error = problem.args[0]
        check(error.code() in codes, f"{what}: expected error {codes}, seen {error!r}")
        return error
    raise AssertionError(f"{what}: expected error {codes}, and it succeeded")


def eventually(fact, what, limit=20, every=0.05):
    """Waits until the fact is true and returns it; an error of the client counts as not yet."""
    end = time.monotonic() + limit
    last = None
    while time.monotonic() < end:
        try:
            last = fact()
            if last:
                return last
        except KafkaException as problem:
            last = problem
        time.sleep(every)
    raise AssertionError(f"{what}: not within {limit} s; last seen {shorten(last)}")


class Lines(logging.Handler):
    """What the clients of one behaviour said, for the report when it fails."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


class Kafka:
    """One behaviour's view of the broker."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.log = Lines()
        self._logger = logging.Logger(f"behaviour-{next(_numbers)}")
        self._logger.addHandler(self.log)
        self._topics = []
        self._closing = []
        self.admin = AdminClient({"bootstrap.servers": bootstrap}, logger=self._logger)

    # Names

    def name(self, kind="t"):
        return f"conformance.{RUN}.{kind}{next(_numbers)}"

    def topic(self, partitions=1, config=None):
        """A new topic that the metadata already show."""
        name = self.name()
        self.create(name, partitions, config)
        return name

    def create(self, name, partitions=1, config=None, **options):
        new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config or {})
        self._topics.append(name)
        self.admin.create_topics([new], operation_timeout=20, **options)[name].result(30)
        if not options.get("validate_only"):
            eventually(lambda: self.partitions(name) == partitions, f"topic {name} has {partitions} partitions")

    def partitions(self, topic):
        """How many partitions the metadata show, 0 for an unknown topic. To ask for one topic by its
        name would make it, where topics are made by asking."""
        found = self.admin.list_topics(timeout=10).topics.get(topic)
        return 0 if found is None or found.error else len(found.partitions)

    # Clients

    def producer(self, **settings):
        return Producer(self._settings({"linger.ms": 2}, settings), logger=self._logger)

    def transactional(self, name=None, **settings):
        producer = self.producer(transactional_id=name or self.name("x"), **settings)
        producer.init_transactions(30)
        return producer

    def consumer(self, group=None, **settings):
        base = {
            "group.id": group or self.name("g"),
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
        }
        consumer = Consumer(self._settings(base, settings), logger=self._logger)
        self._closing.append(consumer)
        return consumer

    def _settings(self, base, settings):
        base = {"bootstrap.servers": self.bootstrap, "error_cb": settings.pop("on_error", lambda _: None), **base}
        return {**base, **{name.replace("_", "."): value for name, value in settings.items()}}

    # Work

    def send(self, producer, topic, records, limit=60):
        """Produces dictionaries of `produce`'s arguments; returns the messages as acknowledged."""
        done = []
        for record in records:
            arguments = {"partition": 0, **record}
            while True:
                try:
                    producer.produce(topic, on_delivery=lambda e, m: done.append((e, m)), **arguments)
                    break
                except BufferError:
                    producer.poll(0.1)
        left = producer.flush(limit)
        equal(left, 0, "records not acknowledged")
        for error, _ in done:
            if error:
                raise KafkaException(error)
        return [message for _, message in done]

    def read(self, topic, partition=0, offset=OFFSET_BEGINNING, isolation="read_uncommitted", limit=60, **settings):
        """Everything from the offset to what is the end for this isolation."""
        consumer = self.consumer(isolation_level=isolation, enable_partition_eof=True, **settings)
        consumer.assign([TopicPartition(topic, partition, offset)])
        found = []
        end = time.monotonic() + limit
        while time.monotonic() < end:
            for message in consumer.consume(5000, 0.5):
                if not message.error():
                    found.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    self.close(consumer)
                    return found
                elif not message.error().retriable():
                    raise KafkaException(message.error())
        raise AssertionError(f"no end of {topic}/{partition} within {limit} s; {len(found)} records came")

    def values(self, topic, partition=0, isolation="read_committed", **settings):
        return [m.value() for m in self.read(topic, partition, isolation=isolation, **settings)]

    def watermarks(self, topic, partition=0):
        consumer = self.consumer()
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=20)
        finally:
            self.close(consumer)

    def kcat(self, *arguments, given=None, limit=60):
        """Runs kcat and returns what it printed."""
        command = ["kcat", "-b", self.bootstrap, *arguments]
        done = subprocess.run(command, input=given, capture_output=True, timeout=limit)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
        return done.stdout

    # The end

    def close(self, consumer):
        consumer.close()
        self._closing.remove(consumer)

    def tidy(self):
        for consumer in self._closing:
            consumer.close()
        present = self.admin.list_topics(timeout=20).topics
        doomed = [topic for topic in dict.fromkeys(self._topics) if topic in present]
        if doomed:
            for future in self.admin.delete_topics(doomed, operation_timeout=20).values():
                try:
                    future.result(30)
                except KafkaException:
                    pass


class Member:
    """A group member that polls on its own thread and remembers what happened to it."""

    def __init__(self, kafka, group, topics, **settings):
        self.assigned = set()
        self.assignments = 0
        self.revoked = set()
        self.messages = []
        self.errors = []
        settings = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 300, **settings}
        self.consumer = kafka.consumer(group, on_error=self.errors.append, **settings)
        kafka._closing.remove(self.consumer)
        self.consumer.subscribe(topics, on_assign=self._assign, on_revoke=self._revoke, on_lost=self._revoke)
        self._commit = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _assign(self, _, partitions):
        self.assignments += 1
        self.assigned |= {(p.topic, p.partition) for p in partitions}

    def _revoke(self, _, partitions):
        gone = {(p.topic, p.partition) for p in partitions}
        self.revoked |= gone
        self.assigned -= gone

    def _run(self):
        while not self._stop.is_set():
            if self._commit is not None:
                self.consumer.commit(offsets=self._commit, asynchronous=False)
                self._commit = None
            message = self.consumer.poll(0.05)
            if message is None:
                continue
            if message.error():
                self.errors.append(message.error())
            else:
                self.messages.append(message)

    def codes(self):
        return {error.code() for error in self.errors}

    def commit(self, offsets):
        """On the polling thread: a commit beside a poll of the same consumer can wait for ever."""
        self._commit = offsets
        eventually(lambda: self._commit is None, "the member has committed")

    def pause(self):
        """Stops polling without leaving."""
        self._stop.set()
        self._thread.join()

    def leave(self):
        self.pause()
        self.consumer.close()


def recently():
    """Milliseconds of an hour ago: older than what a test writes, younger than what retention removes."""
    return int(time.time() * 1000) - 3_600_000


def records(count, size=0, start=0):
    return [{"value": b"%08d" % number + bytes(size)} for number in range(start, start + count)]
