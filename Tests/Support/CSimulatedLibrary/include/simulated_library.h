// A stand-in for librdkafka and for the clocks of the machine, for one process that simulates many.
//
// `library.c` and `messages.c` define the functions of librdkafka that the module Kafka calls, under their own names.
// A program that links them uses them in place of the library. The calls of a client go to the `simulation_...`
// functions, which the simulation defines in Swift. `machine.c` replaces the clocks, the sleeps and the threads.
#pragma once
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: The machine (machine.c)

/// Returns the steady clock of the process whose code runs, in nanoseconds.
int64_t simulated_steady_nanoseconds(void);
/// Sets the clocks of the process whose code runs. Before the first call, the clocks are the machine's.
///
/// `wall_offset` is its wall clock less its steady clock.
void simulated_clock_set(int64_t steady, int64_t wall_offset);

// MARK: Configurations (library.c)

typedef void simulated_rebalance_t(rd_kafka_t *, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t *,
                                   void *);
typedef void simulated_commit_t(rd_kafka_t *, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t *, void *);

/// The properties of a client that matter in the simulation.
typedef struct {
    bool is_consumer;
    // Null if they are not set.
    char *group;
    char *instance;
    char *transactional_id;
    int session_milliseconds;
    int transaction_milliseconds;
    int message_milliseconds;
    void *opaque;
    simulated_rebalance_t *on_rebalance;
    simulated_commit_t *on_commit;
    rd_kafka_interceptor_f_on_acknowledgement_t *on_acknowledgement;
    void *acknowledgement_opaque;
} simulated_properties_t;

// MARK: Messages and errors (messages.c)

/// Makes a message that owns copies of its bytes. A null key or value stays null.
rd_kafka_message_t *simulated_message_new(rd_kafka_resp_err_t code, rd_kafka_topic_t *topic, int32_t partition,
                                          int64_t offset, const void *value, size_t value_length,
                                          const void *key, size_t key_length, int64_t timestamp,
                                          rd_kafka_timestamp_type_t timestamp_type,
                                          rd_kafka_headers_t *headers);
/// Sets what only the report of a delivery has.
void simulated_message_set_delivery(rd_kafka_message_t *message, void *tag, rd_kafka_msg_status_t status,
                                    int32_t broker);

typedef enum {
    SIMULATED_ERROR_FATAL = 1,
    SIMULATED_ERROR_RETRIABLE = 2,
    SIMULATED_ERROR_ABORTABLE = 4,
} simulated_error_flags_t;

rd_kafka_error_t *simulated_error_new(rd_kafka_resp_err_t code, int flags, const char *text);

/// Makes an event of a producer's queue: the reports of some deliveries. It owns them.
rd_kafka_event_t *simulated_deliveries_new(rd_kafka_message_t **messages, size_t count);

/// Makes the description of topics. `leaders` has the leader of each partition, one topic after the other.
const struct rd_kafka_metadata *simulated_metadata_new(const char *const *topics, const int *partition_counts,
                                                       const rd_kafka_resp_err_t *codes,
                                                       const int32_t *leaders, int topic_count);

// MARK: What the simulation defines

/// Makes a client. The properties are valid during the call only.
rd_kafka_t *simulation_client_new(const simulated_properties_t *properties);
rd_kafka_resp_err_t simulation_produce(rd_kafka_t *client, rd_kafka_topic_t *topic, int32_t partition,
                                       const void *value, size_t value_length, const void *key,
                                       size_t key_length, rd_kafka_headers_t *headers, void *tag,
                                       int64_t timestamp);
