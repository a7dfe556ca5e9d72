internal import CRdKafka

extension MockCluster {
    /// The requests that can fail, by Kafka's API keys.
    package enum Request: Int16, Sendable {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case metadata = 3
        case offsetCommit = 8
        case offsetFetch = 9
        case findCoordinator = 10
        case joinGroup = 11
        case heartbeat = 12
        case syncGroup = 14
        case initProducerID = 22
        case addPartitions = 24
        case addOffsets = 25
        case endTransaction = 26
        case transactionOffsetCommit = 28
    }

    /// Sets Kafka's error codes for the next requests of this kind, one each, in order. 0 means no error.
    package func failNext(_ request: Request, with errors: Int32...) {
        let codes = errors.map { rd_kafka_resp_err_t(rawValue: $0) }
        unsafe rd_kafka_mock_push_request_errors_array(cluster, request.rawValue, codes.count, codes)
    }

    /// Removes the errors that `failNext` set and that no request has received yet.
    package func stopFailing(_ request: Request) {
        unsafe rd_kafka_mock_clear_request_errors(cluster, request.rawValue)
    }

    /// Stops a broker, and reserves its port until `bringUp`. Brokers are numbered from 1.
    package func takeDown(broker: Int32) {
        let address = brokers[Int(broker) - 1]
        unsafe rd_kafka_mock_broker_set_down(cluster, broker)
        reservedPorts.reservePort(ofBroker: broker, at: address)
    }

    package func bringUp(broker: Int32) {
        unsafe rd_kafka_mock_broker_set_up(cluster, broker)
        reservedPorts.releasePort(ofBroker: broker)
    }

    /// Sets the round-trip time of a broker.
    package func setRoundTripTime(ofBroker: Int32, milliseconds: Int32) {
        unsafe rd_kafka_mock_broker_set_rtt(cluster, ofBroker, milliseconds)
    }

    /// Lets a broker accept connections and requests but answer none of them, like a node that is cut off.
    package func stopAnswering(broker: Int32) {
        setRoundTripTime(ofBroker: broker, milliseconds: Self.endlessMilliseconds)
    }

    /// Lets a broker answer everything but the next request of this kind, and what follows on its connection.
    package func stopAnswering(_ request: Request, onBroker: Int32) {
        _ = unsafe rdkafka_mock_delay_answer(cluster, onBroker, request.rawValue, Self.endlessMilliseconds)
    }

    /// Longer than any test.
    private static var endlessMilliseconds: Int32 { 3_600_000 }

    package func setLeader(ofTopic topic: String, partition: Int32, broker: Int32) {
        unsafe rd_kafka_mock_partition_set_leader(cluster, topic, partition, broker)
    }

    /// Sets the offsets that can be fetched from followers.
    package func setFollowerOffsets(ofTopic topic: String, partition: Int32, low: Int64, high: Int64) {
        unsafe rd_kafka_mock_partition_set_follower_wmarks(cluster, topic, partition, low, high)
    }

    package func setCoordinator(ofGroup group: String, broker: Int32) {
        unsafe rd_kafka_mock_coordinator_set(cluster, "group", group, broker)
    }

    package func setCoordinator(ofTransaction id: String, broker: Int32) {
        unsafe rd_kafka_mock_coordinator_set(cluster, "transaction", id, broker)
    }

    /// Makes every request about the topic fail with this error code of Kafka. 0 means no error again.
    package func setError(ofTopic topic: String, code error: Int32) {
        unsafe rd_kafka_mock_topic_set_error(cluster, topic, rd_kafka_resp_err_t(rawValue: error))
    }
}
