"""Batches in every codec, written and read by both clients."""

from kit import equal, records


def _both_ways(k, codec):
    topic = k.topic(2)
    sent = records(500, size=100)
    k.send(k.producer(compression_type=codec, linger_ms=50), topic, sent)
    equal(k.values(topic), [r["value"] for r in sent], f"records in {codec}")
    lines = k.kcat("-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-f", "%S ").split()
    equal(lines, [b"108"] * 500, f"sizes that kcat reads in {codec}")

    text = [b"line %d" % number for number in range(300)]
    k.kcat("-P", "-t", topic, "-p", "1", "-z", codec, given=b"\n".join(text))
    equal(k.values(topic, 1), text, f"kcat's records in {codec}")


def uncompressed_batches_arrive_as_they_were(k):
    _both_ways(k, "none")


def gzip_batches_arrive_as_they_were(k):
    _both_ways(k, "gzip")


def snappy_batches_arrive_as_they_were(k):
    _both_ways(k, "snappy")


def lz4_batches_arrive_as_they_were(k):
    _both_ways(k, "lz4")


def zstd_batches_arrive_as_they_were(k):
    _both_ways(k, "zstd")


def batches_of_all_codecs_side_by_side_are_read_in_order(k):
    topic = k.topic()
    expected = []
    for start, codec in enumerate(["zstd", "none", "lz4", "gzip", "snappy", "zstd", "none"]):
        sent = records(50, size=20, start=start * 50)
        k.send(k.producer(compression_type=codec), topic, sent)
        expected += [r["value"] for r in sent]
    equal(k.values(topic), expected, "records of all codecs")
