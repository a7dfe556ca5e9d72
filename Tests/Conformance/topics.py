"""Topics as an operator makes, changes and removes them."""

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import ConfigResource, NewTopic

from kit import check, equal, eventually, records, refused


def _config(k, topic):
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    return k.admin.describe_configs([resource], request_timeout=20)[resource].result()


def _create(k, name, partitions=1, replicas=1, config=None):
    new = NewTopic(name, num_partitions=partitions, replication_factor=replicas, config=config or {})
    k.admin.create_topics([new], operation_timeout=20)[name].result(30)


def a_new_topic_is_shown_with_its_partitions(k):
    topic = k.topic(5)
    found = k.admin.list_topics(timeout=20).topics[topic]
    equal(sorted(found.partitions), list(range(5)), "partitions")
    for partition in found.partitions.values():
        check(partition.leader >= 0 and len(partition.replicas) == 1, "each has a leader and one replica")


def a_topic_that_exists_cannot_be_made_again(k):
    topic = k.topic(2)
    refused(KafkaError.TOPIC_ALREADY_EXISTS, lambda: _create(k, topic, 3), "to make it again")
    equal(k.partitions(topic), 2, "partitions")


def a_name_a_count_and_a_setting_that_cannot_be_are_refused(k):
    good = k.name()
    for name in ("a b", "ä", ".", "..", "x" * 250):
        refused(KafkaError.TOPIC_EXCEPTION, lambda: _create(k, name), f"topic {name[:20]!r}")
    refused(KafkaError.INVALID_REPLICATION_FACTOR, lambda: _create(k, good, 1, 3), "three replicas on one broker")
    refused(KafkaError.INVALID_CONFIG, lambda: _create(k, good, config={"no.such.thing": "1"}), "an unknown setting")
    refused(KafkaError.INVALID_CONFIG, lambda: _create(k, good, config={"retention.ms": "soon"}), "a wrong value")
    refused(KafkaError.INVALID_CONFIG, lambda: _create(k, good, config={"cleanup.policy": "burn"}), "a wrong policy")
    equal(k.partitions(good), 0, "partitions of what was refused")


def a_dry_run_makes_nothing(k):
    name = k.name()
    k.create(name, 3, validate_only=True)
    equal(k.partitions(name), 0, "partitions")
    other = k.topic()
    refused(KafkaError.TOPIC_ALREADY_EXISTS, lambda: k.create(other, 3, validate_only=True), "a dry run")


def a_deleted_topic_is_gone_and_its_name_begins_anew(k):
    topic = k.topic(2)
    k.send(k.producer(), topic, records(10))
    k.admin.delete_topics([topic], operation_timeout=20)[topic].result(30)
    eventually(lambda: topic not in k.admin.list_topics(timeout=20).topics, "it is not listed")

    def delete():
        k.admin.delete_topics([topic], operation_timeout=20)[topic].result(30)

    refused(KafkaError.UNKNOWN_TOPIC_OR_PART, delete, "to delete it again")
    k.create(topic, 1)
    equal(k.watermarks(topic), (0, 0), "watermarks")
    equal(k.send(k.producer(), topic, records(1))[0].offset(), 0, "the first offset")


def settings_are_described_with_where_they_come_from(k):
    topic = k.topic(config={"retention.ms": "123456", "cleanup.policy": "compact"})
    found = _config(k, topic)
    equal(found["retention.ms"].value, "123456", "a setting that was given")
    check(not found["retention.ms"].is_default, "a setting that was given is no default")
    equal(found["cleanup.policy"].value, "compact", "the policy")
    equal(found["delete.retention.ms"].value, "86400000", "a default")
    check(found["delete.retention.ms"].is_default, "a default is a default")


def settings_are_altered_and_take_effect(k):
    topic = k.topic()
    producer = k.producer()
    k.send(producer, topic, [{"value": bytes(50000)}])
    settings = {"max.message.bytes": "1000", "retention.bytes": "5000000"}
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=settings)
    k.admin.alter_configs([resource], request_timeout=20)[resource].result()
    eventually(lambda: _config(k, topic)["max.message.bytes"].value == "1000", "the new value")
    equal(_config(k, topic)["retention.bytes"].value, "5000000", "the other new value")

    def is_too_large():
        try:
            k.send(producer, topic, [{"value": bytes(50000)}])
        except KafkaException as problem:
            return problem.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE

    eventually(is_too_large, "a record is too large now")
    # What an alteration does not name goes back to its default.
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config={"retention.bytes": "6000000"})
    k.admin.alter_configs([resource], request_timeout=20)[resource].result()
    eventually(lambda: _config(k, topic)["max.message.bytes"].is_default, "the default")
    eventually(lambda: k.send(producer, topic, [{"value": bytes(50000)}]), "the record is not too large any more")


def a_wrong_alteration_is_refused_and_changes_nothing(k):
    topic = k.topic(config={"retention.ms": "777000"})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config={"retention.ms": "never"})
    refused(
        KafkaError.INVALID_CONFIG,
        lambda: k.admin.alter_configs([resource], request_timeout=20)[resource].result(),
        "a wrong value",
    )
    equal(_config(k, topic)["retention.ms"].value, "777000", "the value")


def settings_of_an_unknown_topic_are_refused(k):
    missing = k.name()
    refused(KafkaError.UNKNOWN_TOPIC_OR_PART, lambda: _config(k, missing), "to describe it")


def the_cluster_describes_itself(k):
    found = k.admin.describe_cluster(request_timeout=20).result()
    check(found.cluster_id, "the cluster has an id")
    equal(len(found.nodes), 1, "nodes")
    check(found.controller is not None, "there is a controller")
    equal(k.admin.list_topics(timeout=20).cluster_id, found.cluster_id, "the id in the metadata")


def topics_are_described_one_by_one(k):
    topic = k.topic(3)
    found = k.admin.describe_topics(TopicCollection([topic]), request_timeout=20)[topic].result()
    equal((found.name, len(found.partitions), found.is_internal), (topic, 3, False), "the topic")


def topics_settings_and_deletions_survive_a_crash(k):
    kept = k.topic(7, {"retention.ms": "98765432", "cleanup.policy": "compact,delete"})
    gone = k.topic(2)
    k.send(k.producer(), gone, records(5))
    k.admin.delete_topics([gone], operation_timeout=20)[gone].result(30)
    cluster = k.admin.list_topics(timeout=20).cluster_id
    yield "restart"
    equal(k.partitions(kept), 7, "partitions of the topic that was kept")
    equal(_config(k, kept)["retention.ms"].value, "98765432", "its setting")
    equal(_config(k, kept)["cleanup.policy"].value, "compact,delete", "its policy")
    check(gone not in k.admin.list_topics(timeout=20).topics, "the deleted topic is back")
    equal(k.admin.list_topics(timeout=20).cluster_id, cluster, "the cluster's id")
