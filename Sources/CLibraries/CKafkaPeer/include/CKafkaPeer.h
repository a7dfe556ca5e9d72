// What `flotilla-bench kafka` does, as a C program would do it: the peer that the Swift wrapper is
// measured against.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Produces `count` records of `size` bytes over four partitions. Returns how many were acknowledged,
/// or -1 when there is no client.
int64_t kafka_peer_produce(const char *brokers, const char *topic, const char *compression, int64_t count,
                           size_t size);

/// A reader of four partitions that is kept over several passes.
typedef struct kafka_peer_reader kafka_peer_reader;
kafka_peer_reader *kafka_peer_reader_new(const char *brokers);
/// Reads the topic from its beginning until `count` records came. Returns the sum of the values' lengths
/// and first bytes, or -1 when they did not come.
int64_t kafka_peer_read(kafka_peer_reader *reader, const char *topic, int64_t count);
void kafka_peer_reader_destroy(kafka_peer_reader *reader);
