// librdkafka, its mock cluster, and the calls that Swift cannot make because they are variadic.
#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

/// Queues one record. On success `headers` belongs to the library, on failure still to the caller.
/// `key` is copied always, `value` as `flags` say. A timestamp of 0 is now.
static inline rd_kafka_resp_err_t rdkafka_produce(rd_kafka_t *client, rd_kafka_topic_t *topic,
                                                  int32_t partition, int flags, const void *value,
                                                  size_t value_length, const void *key, size_t key_length,
                                                  rd_kafka_headers_t *headers, void *tag,
                                                  int64_t timestamp) {
    if (headers)
        return rd_kafka_producev(client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition),
                                 RD_KAFKA_V_MSGFLAGS(flags), RD_KAFKA_V_VALUE(value, value_length),
                                 RD_KAFKA_V_KEY(key, key_length), RD_KAFKA_V_OPAQUE(tag),
                                 RD_KAFKA_V_TIMESTAMP(timestamp), RD_KAFKA_V_HEADERS(headers),
                                 RD_KAFKA_V_END);
    return rd_kafka_producev(client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition),
                             RD_KAFKA_V_MSGFLAGS(flags), RD_KAFKA_V_VALUE(value, value_length),
                             RD_KAFKA_V_KEY(key, key_length), RD_KAFKA_V_OPAQUE(tag),
                             RD_KAFKA_V_TIMESTAMP(timestamp), RD_KAFKA_V_END);
}

/// Delays the answer to the next request of this kind that a broker of the mock cluster gets.
static inline rd_kafka_resp_err_t rdkafka_mock_delay_answer(rd_kafka_mock_cluster_t *cluster, int32_t broker,
                                                            int16_t api_key, int milliseconds) {
    return rd_kafka_mock_broker_push_request_error_rtts(cluster, broker, api_key, 1,
                                                        RD_KAFKA_RESP_ERR_NO_ERROR, milliseconds);
}
