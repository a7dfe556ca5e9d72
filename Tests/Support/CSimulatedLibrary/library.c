#include "simulated_library.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

// MARK: Configurations

enum { INTERCEPTORS_MAX = 4 };

struct rd_kafka_conf_s {
    simulated_properties_t properties;
    rd_kafka_interceptor_f_on_new_t *on_new[INTERCEPTORS_MAX];
    void *on_new_opaque[INTERCEPTORS_MAX];
    int on_new_count;
};

rd_kafka_conf_t *rd_kafka_conf_new(void) {
    rd_kafka_conf_t *configuration = calloc(1, sizeof *configuration);
    configuration->properties.session_milliseconds = 45000;
    configuration->properties.transaction_milliseconds = 60000;
    configuration->properties.message_milliseconds = 300000;
    return configuration;
}

void rd_kafka_conf_destroy(rd_kafka_conf_t *configuration) {
    free(configuration->properties.group);
    free(configuration->properties.instance);
    free(configuration->properties.transactional_id);
    free(configuration);
}

rd_kafka_conf_res_t rd_kafka_conf_set(rd_kafka_conf_t *configuration, const char *name, const char *value,
                                      char *text, size_t size) {
    (void)text, (void)size;
    simulated_properties_t *properties = &configuration->properties;
    char **destination = !strcmp(name, "group.id")            ? &properties->group
                         : !strcmp(name, "group.instance.id") ? &properties->instance
                         : !strcmp(name, "transactional.id")  ? &properties->transactional_id
                                                              : 0;
    if (destination) {
        free(*destination);
        *destination = strdup(value);
    }
    if (!strcmp(name, "session.timeout.ms")) properties->session_milliseconds = atoi(value);
    if (!strcmp(name, "transaction.timeout.ms")) properties->transaction_milliseconds = atoi(value);
    if (!strcmp(name, "message.timeout.ms")) properties->message_milliseconds = atoi(value);
    return RD_KAFKA_CONF_OK;
}

void rd_kafka_conf_set_opaque(rd_kafka_conf_t *configuration, void *opaque) {
    configuration->properties.opaque = opaque;
}

void rd_kafka_conf_set_rebalance_cb(rd_kafka_conf_t *configuration, simulated_rebalance_t *callback) {
    configuration->properties.on_rebalance = callback;
}

void rd_kafka_conf_set_offset_commit_cb(rd_kafka_conf_t *configuration, simulated_commit_t *callback) {
    configuration->properties.on_commit = callback;
}

// The simulation has no such events.
void rd_kafka_conf_set_events(rd_kafka_conf_t *configuration, int events) { (void)configuration, (void)events; }
void rd_kafka_conf_set_log_cb(rd_kafka_conf_t *configuration,
                              void (*callback)(const rd_kafka_t *, int, const char *, const char *)) {
    (void)configuration, (void)callback;
}
void rd_kafka_conf_set_error_cb(rd_kafka_conf_t *configuration,
                                void (*callback)(rd_kafka_t *, int, const char *, void *)) {
    (void)configuration, (void)callback;
}
void rd_kafka_conf_set_stats_cb(rd_kafka_conf_t *configuration,
                                int (*callback)(rd_kafka_t *, char *, size_t, void *)) {
    (void)configuration, (void)callback;
}
void rd_kafka_conf_set_throttle_cb(rd_kafka_conf_t *configuration,
                                   void (*callback)(rd_kafka_t *, const char *, int32_t, int, void *)) {
    (void)configuration, (void)callback;
}

// MARK: Interceptors

rd_kafka_resp_err_t rd_kafka_conf_interceptor_add_on_new(rd_kafka_conf_t *configuration, const char *name,
                                                         rd_kafka_interceptor_f_on_new_t *on_new, void *opaque) {
    (void)name;
    int index = configuration->on_new_count;
    if (index == INTERCEPTORS_MAX) return RD_KAFKA_RESP_ERR__FAIL;
    configuration->on_new[index] = on_new;
    configuration->on_new_opaque[index] = opaque;
    configuration->on_new_count++;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/// The configuration of the client that is being made. Its interceptors are added before the client exists.
static rd_kafka_conf_t *current;

rd_kafka_resp_err_t rd_kafka_interceptor_add_on_acknowledgement(
    rd_kafka_t *client, const char *name, rd_kafka_interceptor_f_on_acknowledgement_t *callback, void *opaque) {
    (void)client, (void)name;
    current->properties.on_acknowledgement = callback;
    current->properties.acknowledgement_opaque = opaque;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t rd_kafka_interceptor_add_on_thread_start(rd_kafka_t *client, const char *name,
                                                             rd_kafka_interceptor_f_on_thread_start_t *callback,
                                                             void *opaque) {
    (void)client, (void)name, (void)callback, (void)opaque;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_t *rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *configuration, char *text, size_t size) {
    configuration->properties.is_consumer = type == RD_KAFKA_CONSUMER;
    current = configuration;
    for (int index = 0; index < configuration->on_new_count; index++)
        configuration->on_new[index](0, configuration, configuration->on_new_opaque[index], text, size);
    current = 0;
    rd_kafka_t *client = simulation_client_new(&configuration->properties);
    rd_kafka_conf_destroy(configuration);
    return client;
}

// MARK: Topics

struct rd_kafka_topic_s {
    char *name;
};

rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *client, const char *name, rd_kafka_topic_conf_t *configuration) {
    (void)client, (void)configuration;
    rd_kafka_topic_t *topic = calloc(1, sizeof *topic);
    topic->name = strdup(name);
    return topic;
}

const char *rd_kafka_topic_name(const rd_kafka_topic_t *topic) { return topic->name; }

void rd_kafka_topic_destroy(rd_kafka_topic_t *topic) {
    free(topic->name);
    free(topic);
}

rd_kafka_topic_conf_t *rd_kafka_default_topic_conf_dup(rd_kafka_t *client) {
    (void)client;
    return 0;
}

rd_kafka_conf_res_t rd_kafka_topic_conf_set(rd_kafka_topic_conf_t *configuration, const char *name,
                                            const char *value, char *text, size_t size) {
    (void)configuration, (void)name, (void)value, (void)text, (void)size;
    return RD_KAFKA_CONF_OK;
}

// MARK: Queues

rd_kafka_resp_err_t rd_kafka_poll_set_consumer(rd_kafka_t *client) {
    (void)client;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void rd_kafka_yield(rd_kafka_t *client) { (void)client; }

// MARK: Producing

rd_kafka_resp_err_t rd_kafka_producev(rd_kafka_t *client, ...) {
    rd_kafka_topic_t *topic = 0;
    int32_t partition = RD_KAFKA_PARTITION_UA;
    const void *value = 0, *key = 0;
    size_t value_length = 0, key_length = 0;
    rd_kafka_headers_t *headers = 0;
    void *tag = 0;
    int64_t timestamp = 0;
    va_list arguments;
    va_start(arguments, client);
    for (;;) {
        rd_kafka_vtype_t type = va_arg(arguments, rd_kafka_vtype_t);
        if (type == RD_KAFKA_VTYPE_END) break;
        switch (type) {
        case RD_KAFKA_VTYPE_RKT: topic = va_arg(arguments, rd_kafka_topic_t *); break;
        case RD_KAFKA_VTYPE_PARTITION: partition = va_arg(arguments, int32_t); break;
        case RD_KAFKA_VTYPE_MSGFLAGS: (void)va_arg(arguments, int); break;
        case RD_KAFKA_VTYPE_VALUE:
            value = va_arg(arguments, const void *);
            value_length = va_arg(arguments, size_t);
            break;
        case RD_KAFKA_VTYPE_KEY:
            key = va_arg(arguments, const void *);
            key_length = va_arg(arguments, size_t);
            break;
        case RD_KAFKA_VTYPE_OPAQUE: tag = va_arg(arguments, void *); break;
        case RD_KAFKA_VTYPE_TIMESTAMP: timestamp = va_arg(arguments, int64_t); break;
        case RD_KAFKA_VTYPE_HEADERS: headers = va_arg(arguments, rd_kafka_headers_t *); break;
        default: abort();
        }
    }
    va_end(arguments);
    return simulation_produce(client, topic, partition, value, value_length, key, key_length, headers, tag,
                              timestamp);
}
