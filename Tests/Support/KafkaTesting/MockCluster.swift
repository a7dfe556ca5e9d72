internal import CRdKafka

/// A Kafka cluster of the client library inside the test process, with injectable faults.
///
/// It does not support transactional isolation (readers see aborted records), topic creation, time lookup or
/// compaction. A partition above 5 MiB silently drops its oldest records. Its groups wait 3 s for the first
/// member.
@safe
package final class MockCluster: Sendable {
    /// The library's handle. Any thread may use it, because the cluster has its own thread, which receives each call as
    /// a message.
    nonisolated(unsafe) let cluster: OpaquePointer
    nonisolated(unsafe) private let client: OpaquePointer
    let reservedPorts = ReservedPorts()

    /// Creates a cluster. Returns nil if the library has no threads or sockets for it.
    package init?(brokers: Int = 3) {
        let configuration = unsafe rd_kafka_conf_new()
        // No log: it would contain only the faults that tests cause.
        unsafe rd_kafka_conf_set(configuration, "log_level", "0", nil, 0)
        guard let client = unsafe rd_kafka_new(RD_KAFKA_PRODUCER, configuration, nil, 0) else {
            unsafe rd_kafka_conf_destroy(configuration)
            return nil
        }
        guard let cluster = unsafe rd_kafka_mock_cluster_new(client, Int32(brokers)) else {
            unsafe rd_kafka_destroy(client)
            return nil
        }
        unsafe self.client = client
        unsafe self.cluster = cluster
    }

    deinit {
        unsafe rd_kafka_mock_cluster_destroy(cluster)
        unsafe rd_kafka_destroy(client)
    }

    /// The address `host:port` of every broker.
    package var brokers: [String] {
        unsafe String(cString: rd_kafka_mock_cluster_bootstraps(cluster)).split(separator: ",").map(
            String.init)
    }

    /// Sets the round-trip time of every broker.
    package func setRoundTripTime(milliseconds: Int) {
        let allBrokers: Int32 = -1
        unsafe rd_kafka_mock_broker_set_rtt(cluster, allBrokers, Int32(milliseconds))
    }

    package func createTopic(named name: String, partitions: Int, replication: Int = 1) {
        unsafe rd_kafka_mock_topic_create(cluster, name, Int32(partitions), Int32(replication))
    }

    /// Creates a topic whose name need not be UTF-8.
    package func createTopic(nameBytes: [UInt8], partitions: Int) {
        let name = nameBytes.map { CChar(bitPattern: $0) } + [0]
        unsafe rd_kafka_mock_topic_create(cluster, name, Int32(partitions), 1)
    }
}
