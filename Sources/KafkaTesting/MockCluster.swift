internal import CRdKafka

/// A Kafka cluster inside the test's own process, made by the client library, that breaks on request.
///
/// It cannot show what transactions do (readers see aborted records), no topic creation, no time
/// lookup, no compaction. A partition that grows above 5 MiB forgets its oldest records in silence.
/// Its groups wait 3 s for the first member.
@safe
package final class MockCluster: Sendable {
    /// What is asked of it becomes a message to the library's one thread for it.
    nonisolated(unsafe) let cluster: OpaquePointer
    nonisolated(unsafe) private let client: OpaquePointer
    let held = HeldPorts()

    /// Nil when the library cannot make one, for want of threads or sockets.
    package init?(brokers: Int = 3) {
        let configuration = unsafe rd_kafka_conf_new()
        // What it has to say about its clients' faults is what tests make happen.
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

    /// `host:port` of every broker.
    package var brokers: [String] {
        unsafe String(cString: rd_kafka_mock_cluster_bootstraps(cluster)).split(separator: ",").map(
            String.init)
    }

    /// How long every broker takes for an answer.
    package func slowDown(milliseconds: Int) {
        unsafe rd_kafka_mock_broker_set_rtt(cluster, -1, Int32(milliseconds))
    }

    package func createTopic(_ name: String, partitions: Int, replication: Int = 1) {
        unsafe rd_kafka_mock_topic_create(cluster, name, Int32(partitions), Int32(replication))
    }

    /// A topic whose name need not be UTF-8.
    package func createTopic(nameBytes: [UInt8], partitions: Int) {
        let name = nameBytes.map { CChar(bitPattern: $0) } + [0]
        unsafe rd_kafka_mock_topic_create(cluster, name, Int32(partitions), 1)
    }
}
