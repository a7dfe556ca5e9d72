#include "CKafkaPeer.h"

#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>

static rd_kafka_t *client(rd_kafka_type_t type, const char *brokers, const char *const (*settings)[2],
                          int events) {
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers, NULL, 0);
    rd_kafka_conf_set(conf, "socket.nagle.disable", "true", NULL, 0);
    for (; (*settings)[0]; settings++)
        if (rd_kafka_conf_set(conf, (*settings)[0], (*settings)[1], NULL, 0) != RD_KAFKA_CONF_OK) return NULL;
    if (events) rd_kafka_conf_set_events(conf, events);
    return rd_kafka_new(type, conf, text, sizeof text);
}

static int64_t collect(rd_kafka_queue_t *queue, int wait) {
    int64_t acknowledged = 0;
    rd_kafka_event_t *event;
    while ((event = rd_kafka_queue_poll(queue, wait))) {
        const rd_kafka_message_t *message;
        if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR)
            while ((message = rd_kafka_event_message_next(event)))
                if (rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_PERSISTED) acknowledged++;
        rd_kafka_event_destroy(event);
        wait = 0;
    }
    return acknowledged;
}

int64_t kafka_peer_produce(const char *brokers, const char *topic, const char *compression, int64_t count,
                           size_t size) {
    const char *const settings[][2] = {{"enable.idempotence", "true"},
                                       {"acks", "all"},
                                       {"linger.ms", "5"},
                                       {"compression.type", compression},
                                       {"queue.buffering.max.messages", "100000"},
                                       {"queue.buffering.max.kbytes", "65536"},
                                       {"message.max.bytes", "4259840"},
                                       {NULL, NULL}};
    rd_kafka_t *rk = client(RD_KAFKA_PRODUCER, brokers, settings, RD_KAFKA_EVENT_DR);
    if (!rk) return -1;
    rd_kafka_queue_t *queue = rd_kafka_queue_get_main(rk);
    rd_kafka_topic_t *rkt = rd_kafka_topic_new(rk, topic, NULL);
    char *value = malloc(size);
    memset(value, 'x', size);
    int64_t acknowledged = 0;
    for (int64_t i = 0; i < count; i++) {
        memcpy(value, &i, sizeof i);
        while (rd_kafka_producev(rk, RD_KAFKA_V_RKT(rkt), RD_KAFKA_V_PARTITION((int32_t)(i & 3)),
                                 RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE(value, size),
                                 RD_KAFKA_V_KEY(value, sizeof i), RD_KAFKA_V_OPAQUE((void *)i),
                                 RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            acknowledged += collect(queue, 10);
    }
    while (rd_kafka_outq_len(rk) > 0) {
        rd_kafka_flush(rk, 10);
        acknowledged += collect(queue, 0);
    }
    free(value);
    rd_kafka_topic_destroy(rkt);
    rd_kafka_queue_destroy(queue);
    rd_kafka_destroy(rk);
    return acknowledged;
}

struct kafka_peer_reader {
    rd_kafka_t *rk;
};

kafka_peer_reader *kafka_peer_reader_new(const char *brokers) {
    const char *const settings[][2] = {{"group.id", "peer"},
                                       {"enable.auto.commit", "false"},
                                       {"enable.auto.offset.store", "false"},
                                       {"isolation.level", "read_uncommitted"},
                                       {"check.crcs", "true"},
                                       {"enable.partition.eof", "true"},
                                       {"queued.max.messages.kbytes", "32768"},
                                       {"fetch.wait.max.ms", "10"},
                                       {NULL, NULL}};
    rd_kafka_t *rk = client(RD_KAFKA_CONSUMER, brokers, settings, 0);
    if (!rk) return NULL;
    rd_kafka_poll_set_consumer(rk);
    kafka_peer_reader *reader = malloc(sizeof *reader);
    reader->rk = rk;
    return reader;
}

int64_t kafka_peer_read(kafka_peer_reader *reader, const char *topic, int64_t count) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(4);
    for (int32_t i = 0; i < 4; i++)
        rd_kafka_topic_partition_list_add(list, topic, i)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(reader->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    int64_t sum = 0;
    for (int64_t read = 0, idle = 0; read < count && idle < 100;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(reader->rk, 100);
        if (!message) {
            idle++;
            continue;
        }
        if (!message->err) {
            sum += (int64_t)message->len + ((const unsigned char *)message->payload)[0];
            read++;
        }
        rd_kafka_message_destroy(message);
    }
    return sum;
}

void kafka_peer_reader_destroy(kafka_peer_reader *reader) {
    rd_kafka_destroy_flags(reader->rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    free(reader);
}
