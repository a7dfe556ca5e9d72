// A stand-in for librdkafka and for the clocks of the machine, for one process that simulates many.
//
// `library.c` and `messages.c` define the functions of librdkafka that the module Kafka calls, under their own names.
// A program that links them uses them in place of the library. The calls of a client go to the `simulation_...`
// functions, which the simulation defines in Swift. `machine.c` replaces the clocks, the sleeps and the randomness,
// `threads.c` the threads, and `descriptors.c` the network.
#pragma once
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// MARK: The machine (machine.c)

/// Returns the steady clock of the process whose code runs, in nanoseconds.
int64_t simulated_steady_nanoseconds(void);
/// Sets the clocks of the process whose code runs. Before the first call, the clocks are the machine's.
///
/// `wall_offset` is its wall clock less its steady clock.
void simulated_clock_set(int64_t steady, int64_t wall_offset);
/// Whether the clocks are simulated.
bool simulated_machine_is_on(void);
/// Sets the seed of the numbers that code takes from the system.
void simulated_random_set(uint64_t seed);

// MARK: Threads that wait for descriptors (threads.c)

/// A thread that waits for descriptors, such as the thread of an event loop. It runs only within `simulated_thread_resume`
/// and within calls that wait for it.
typedef struct {
    /// The process that started the thread.
    int32_t process;
    bool has_ended;
    /// Whether a descriptor that it waits for is ready.
    bool is_ready;
    /// The end of its wait, by the steady clock in nanoseconds. INT64_MAX without an end.
    int64_t wakes_at;
} simulated_thread_state_t;

/// Returns the number of threads that were started. They are numbered from 0.
int32_t simulated_thread_count(void);
simulated_thread_state_t simulated_thread_state(int32_t number);
/// Lets a thread run until it waits again or ends.
void simulated_thread_resume(int32_t number);

/// Sets the process that the next threads and descriptors belong to. 0 owns none of them. Returns the previous one.
int32_t simulated_process_enter(int32_t process);
/// Ends all threads of a process, and closes its descriptors, as SIGKILL does.
void simulated_process_kill(int32_t process);
/// Lets the running thread never continue. It returns only if no such thread runs.
void simulated_thread_abandon(void);

// MARK: Descriptors (descriptors.c)

/// Closes the descriptors of a process.
void simulated_descriptors_close(int32_t process);
/// Makes an event descriptor readable.
void simulated_descriptor_signal(int descriptor);
/// The process that new descriptors belong to.
int32_t simulated_process_current(void);

/// Makes a copy of this process, as `fork` does.
pid_t simulated_fork(void);

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

/// Makes the answer to a commit, for a queue.
rd_kafka_event_t *simulated_commit_answer_new(rd_kafka_resp_err_t code);

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
