"""broker-kills.py PROGRAM KILLS SEED: kills the broker repeatedly while three clients work, then reads
everything back.

- A plain idempotent producer: each acknowledged record exists once, at the acknowledged offset.
- A transactional producer: a committed page is complete, an aborted page is absent, and a page whose
  commit got no answer is either complete or absent.
- A consumer group: the committed offset never falls below an acknowledged one."""

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

# The broker dies several times a second, so the back-off of reconnects is limited.
CLIENT = {"log_level": 0, "reconnect.backoff.max.ms": 100}
PARTITIONS = 3
PAGE = 20


class Broker:
    def __init__(self, program):
        self.program = program
        self.directory = tempfile.mkdtemp(prefix="flotilla-kills-")
        self.listen = "127.0.0.1:0"
        self.start()

    def start(self):
        self.log = open(self.directory + "/log", "a+")
        began = self.log.tell()
        command = [self.program, "broker", "--data", self.directory + "/data", "--listen", self.listen]
        command += ["--admin-listen", "127.0.0.1:0", "--log-format", "text"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        limit = time.monotonic() + 30
        while time.monotonic() < limit and self.process.poll() is None:
            self.log.seek(began)
            for line in self.log.read().splitlines():
                if "broker: serving address=" in line:
                    self.listen = line.split("address=")[1].split()[0]
                    return
            time.sleep(0.01)
        self.log.seek(began)
        sys.exit("the broker does not start:\n" + self.log.read())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory)


class Plain:
    """Appends one record after the other, and remembers the acknowledged records with their offsets."""

    def __init__(self, address):
        settings = {"enable.idempotence": True, "linger.ms": 1, "message.timeout.ms": 300000}
        self.producer = Producer({**CLIENT, "bootstrap.servers": address, "retry.backoff.ms": 20, **settings})
        self.acknowledged = {}
        self.failed = []

    def delivered(self, error, message):
        if error:
            self.failed.append(str(error))
        else:
            self.acknowledged[message.value()] = (message.partition(), message.offset())

    def run(self, stop):
        number = 0
        while not stop.is_set():
            number += 1
            self.producer.produce(
                "plain", b"%d" % number, partition=number % PARTITIONS, on_delivery=self.delivered)
            self.producer.poll(0)
            time.sleep(0.001)
        self.producer.flush(120)


class Transactions:
    """Writes pages of records, aborts every fourth, and remembers the outcome of each as far as it is known."""

    def __init__(self, address):
        self.address = address
        self.outcome = {}
        self.rebuilt = 0

    def make(self):
        settings = {"transactional.id": "pages", "transaction.timeout.ms": 10000, "retry.backoff.ms": 20}
        producer = Producer({**CLIENT, "bootstrap.servers": self.address, "linger.ms": 1, **settings})
        producer.init_transactions(60)
        return producer

    def page(self, producer, number):
        producer.begin_transaction()
        self.outcome[number] = "open"
        for index in range(PAGE):
            producer.produce("pages", b"%d/%d" % (number, index), partition=index % PARTITIONS)
        if number % 4 == 0:
            producer.abort_transaction(30)
            self.outcome[number] = "aborted"
        else:
            producer.flush(30)
            self.outcome[number] = "unknown"
            producer.commit_transaction(30)
            self.outcome[number] = "committed"

    def run(self, stop):
        producer, number = self.make(), 0
        while not stop.is_set():
            number += 1
            try:
                self.page(producer, number)
            except KafkaException as exception:
                error = exception.args[0]
                try:
                    if not error.txn_requires_abort():
                        raise exception
                    producer.abort_transaction(30)
                    self.outcome[number] = "aborted"
                except KafkaException:
                    self.rebuilt += 1
                    producer = self.make()


class Commits:
    """Commits one number after the other as a group's offset, and remembers the newest acknowledged one."""

    def __init__(self, address):
        self.consumer = Consumer({**CLIENT, "bootstrap.servers": address, "group.id": "commits"})
        self.acknowledged = 0
        self.attempted = 0

    def run(self, stop):
        while not stop.is_set():
            self.attempted += 1
            offsets = [TopicPartition("plain", 0, self.attempted)]
            try:
                self.consumer.commit(offsets=offsets, asynchronous=False)
                self.acknowledged = self.attempted
            except KafkaException:
                time.sleep(0.01)


def read(address, topic, isolation):
    settings = {"group.id": "judge", "isolation.level": isolation, "enable.partition.eof": True}
    consumer = Consumer({**CLIENT, "bootstrap.servers": address, "enable.auto.commit": False, **settings})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    ended, found = set(), []
    limit = time.monotonic() + 120
    while len(ended) < PARTITIONS and time.monotonic() < limit:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            ended.add(message.partition())
        else:
            found.append((message.value(), (message.partition(), message.offset())))
    consumer.close()
    if len(ended) < PARTITIONS:
        sys.exit(f"{topic} cannot be read to its end")
    return found


def judge(address, plain, transactions, commits):
    faults = []
    found = read(address, "plain", "read_uncommitted")
    places = dict(found)
    for value, place in plain.acknowledged.items():
        if places.get(value) != place:
            faults.append(f"acknowledged record {value} of {place} is at {places.get(value)}")
    doubled = [value for value, count in Counter(value for value, _ in found).items() if count > 1]
    faults += [f"record {value} exists twice" for value in doubled]
    faults += [f"an append failed: {reason}" for reason in plain.failed]
    pages = Counter(int(value.split(b"/")[0]) for value, _ in read(address, "pages", "read_committed"))
    for number, outcome in transactions.outcome.items():
        allowed = {"committed": [PAGE], "aborted": [0], "open": [0], "unknown": [0, PAGE]}[outcome]
        if pages[number] not in allowed:
            faults.append(f"page {number} was {outcome} and has {pages[number]} records of {PAGE}")
    committed = commits.consumer.committed([TopicPartition("plain", 0)], 30)[0].offset
    if not commits.acknowledged <= committed <= commits.attempted:
        faults.append(f"offset {commits.acknowledged} was committed, the broker says {committed}")
    return faults


def main():
    program, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    broker = Broker(program)
    address = broker.listen
    admin = AdminClient({**CLIENT, "bootstrap.servers": address})
    for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in ("plain", "pages")]).values():
        made.result()
    plain, transactions, commits = Plain(address), Transactions(address), Commits(address)
    stop = threading.Event()
    workers = [threading.Thread(target=worker.run, args=(stop,)) for worker in (plain, transactions, commits)]
    for worker in workers:
        worker.start()
    for _ in range(kills):
        time.sleep(chance.uniform(0.02, 0.5))
        broker.kill()
        broker.start()
    time.sleep(1)
    stop.set()
    for worker in workers:
        worker.join(180)
    faults = judge(address, plain, transactions, commits)
    outcomes = Counter(transactions.outcome.values())
    print(f"{kills} kills, seed {seed}: {len(plain.acknowledged)} records acknowledged, "
          f"{commits.acknowledged} commits, transactions {dict(outcomes)}, {transactions.rebuilt} producers rebuilt")
    broker.stop()
    if faults:
        sys.exit("\n".join(faults[:20]) + f"\n{len(faults)} faults")
    print("all acknowledged records exist, no aborted record is visible, and no record exists twice")


main()
