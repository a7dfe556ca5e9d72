#include "simulated_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: Messages

typedef struct {
    rd_kafka_message_t message;
    rd_kafka_headers_t *headers;
    int64_t timestamp;
    rd_kafka_timestamp_type_t timestamp_type;
    rd_kafka_msg_status_t status;
    int32_t broker;
    // The value and the key.
    char bytes[];
} simulated_message_t;

rd_kafka_message_t *simulated_message_new(rd_kafka_resp_err_t code, rd_kafka_topic_t *topic, int32_t partition,
                                          int64_t offset, const void *value, size_t value_length,
                                          const void *key, size_t key_length, int64_t timestamp,
                                          rd_kafka_timestamp_type_t timestamp_type,
                                          rd_kafka_headers_t *headers) {
    simulated_message_t *made = calloc(1, sizeof *made + value_length + key_length + 2);
    made->message.err = code;
    made->message.rkt = topic;
    made->message.partition = partition;
    made->message.offset = offset;
    if (value) {
        memcpy(made->bytes, value, value_length);
        made->message.payload = made->bytes;
        made->message.len = value_length;
    }
    if (key) {
        char *start = made->bytes + value_length + 1;
        memcpy(start, key, key_length);
        made->message.key = start;
        made->message.key_len = key_length;
    }
    made->headers = headers;
    made->timestamp = timestamp;
    made->timestamp_type = timestamp_type;
    made->status = RD_KAFKA_MSG_STATUS_PERSISTED;
    made->broker = 1;
    return &made->message;
}

void simulated_message_set_delivery(rd_kafka_message_t *message, void *tag, rd_kafka_msg_status_t status,
                                    int32_t broker) {
    simulated_message_t *made = (simulated_message_t *)message;
    message->_private = tag;
    made->status = status;
    made->broker = broker;
}

void rd_kafka_message_destroy(rd_kafka_message_t *message) {
    simulated_message_t *made = (simulated_message_t *)message;
    if (made->headers) rd_kafka_headers_destroy(made->headers);
    free(made);
}

int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *message, rd_kafka_timestamp_type_t *type) {
    const simulated_message_t *made = (const simulated_message_t *)message;
    if (type) *type = made->timestamp_type;
    return made->timestamp;
}

rd_kafka_resp_err_t rd_kafka_message_headers(const rd_kafka_message_t *message, rd_kafka_headers_t **headers) {
    *headers = ((const simulated_message_t *)message)->headers;
    return *headers ? RD_KAFKA_RESP_ERR_NO_ERROR : RD_KAFKA_RESP_ERR__NOENT;
}

rd_kafka_msg_status_t rd_kafka_message_status(const rd_kafka_message_t *message) {
    return ((const simulated_message_t *)message)->status;
}

int32_t rd_kafka_message_broker_id(const rd_kafka_message_t *message) {
    return ((const simulated_message_t *)message)->broker;
}

int64_t rd_kafka_message_latency(const rd_kafka_message_t *message) {
    (void)message;
    return -1;
}

const char *rd_kafka_message_errstr(const rd_kafka_message_t *message) {
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return 0;
    return message->payload ? message->payload : rd_kafka_err2str(message->err);
}

// MARK: Errors

struct rd_kafka_error_s {
    rd_kafka_resp_err_t code;
    int flags;
    char text[256];
};

rd_kafka_error_t *simulated_error_new(rd_kafka_resp_err_t code, int flags, const char *text) {
    rd_kafka_error_t *error = calloc(1, sizeof *error);
    error->code = code;
    error->flags = flags;
    snprintf(error->text, sizeof error->text, "%s", text);
    return error;
}

rd_kafka_resp_err_t rd_kafka_error_code(const rd_kafka_error_t *error) { return error->code; }
const char *rd_kafka_error_string(const rd_kafka_error_t *error) { return error->text; }
int rd_kafka_error_is_fatal(const rd_kafka_error_t *error) { return error->flags & SIMULATED_ERROR_FATAL; }
int rd_kafka_error_is_retriable(const rd_kafka_error_t *error) { return error->flags & SIMULATED_ERROR_RETRIABLE; }
int rd_kafka_error_txn_requires_abort(const rd_kafka_error_t *error) {
    return error->flags & SIMULATED_ERROR_ABORTABLE;
}
void rd_kafka_error_destroy(rd_kafka_error_t *error) { free(error); }

// MARK: Events

struct rd_kafka_op_s {
    rd_kafka_message_t **messages;
    size_t count;
    size_t taken;
    rd_kafka_resp_err_t code;
};

rd_kafka_event_t *simulated_deliveries_new(rd_kafka_message_t **messages, size_t count) {
    rd_kafka_event_t *event = calloc(1, sizeof *event);
    event->messages = malloc(count * sizeof *messages);
    memcpy(event->messages, messages, count * sizeof *messages);
    event->count = count;
    return event;
}

rd_kafka_event_t *simulated_commit_answer_new(rd_kafka_resp_err_t code) {
    rd_kafka_event_t *event = calloc(1, sizeof *event);
    event->code = code;
    return event;
}

rd_kafka_event_type_t rd_kafka_event_type(const rd_kafka_event_t *event) {
    return event->messages ? RD_KAFKA_EVENT_DR : RD_KAFKA_EVENT_OFFSET_COMMIT;
}

rd_kafka_resp_err_t rd_kafka_event_error(rd_kafka_event_t *event) { return event->code; }

// An answer to a commit has no errors of single partitions here.
rd_kafka_topic_partition_list_t *rd_kafka_event_topic_partition_list(rd_kafka_event_t *event) {
    (void)event;
    return 0;
}

const rd_kafka_message_t *rd_kafka_event_message_next(rd_kafka_event_t *event) {
    return event->taken < event->count ? event->messages[event->taken++] : 0;
}

void rd_kafka_event_destroy(rd_kafka_event_t *event) {
    if (!event) return;
    for (size_t index = 0; index < event->count; index++) rd_kafka_message_destroy(event->messages[index]);
    free(event->messages);
    free(event);
}

// MARK: Descriptions of topics

const struct rd_kafka_metadata *simulated_metadata_new(const char *const *topics, const int *partition_counts,
                                                       const rd_kafka_resp_err_t *codes,
                                                       const int32_t *leaders, int topic_count) {
    struct rd_kafka_metadata *metadata = calloc(1, sizeof *metadata);
    metadata->topic_cnt = topic_count;
    metadata->topics = calloc((size_t)topic_count + 1, sizeof *metadata->topics);
    for (int index = 0; index < topic_count; index++) {
        struct rd_kafka_metadata_topic *topic = &metadata->topics[index];
        topic->topic = strdup(topics[index]);
        topic->err = codes[index];
        topic->partition_cnt = partition_counts[index];
        topic->partitions = calloc((size_t)topic->partition_cnt + 1, sizeof *topic->partitions);
        for (int number = 0; number < topic->partition_cnt; number++) {
            topic->partitions[number].id = number;
            topic->partitions[number].leader = *leaders++;
            topic->partitions[number].replica_cnt = 3;
        }
    }
    return metadata;
}

void rd_kafka_metadata_destroy(const struct rd_kafka_metadata *metadata) {
    for (int index = 0; index < metadata->topic_cnt; index++) {
        free(metadata->topics[index].topic);
        free(metadata->topics[index].partitions);
    }
    free(metadata->topics);
    free((void *)metadata);
}
