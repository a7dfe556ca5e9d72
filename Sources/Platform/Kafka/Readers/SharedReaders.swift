internal import Lifecycle
package import Telemetry

/// The clients that the readers of a process share, for all topics that it reads without a group.
///
/// A client has three threads and a dozen file descriptors, for any number of partitions. The
/// library can read a partition only once in a client. So a client has at most one reader of each topic, and
/// a further reader of the same topic gets another client. A process with one loop of each stage needs one
/// client for nearly all readers. A process with more loops of a stage has a client for each of them, which
/// decompresses the records on its own thread.
package final class SharedReaders: Sendable {
    private struct WeakClient {
        weak var client: ReaderClient?
    }

    /// A client ends with its last reader.
    private let clients = TracedLock<[WeakClient]>([])

    package init() {}

    /// Returns a client that has no reader of this topic, and claims the topic for the caller's reader. Makes a new
    /// client if all have a reader of the topic.
    ///
    /// - Parameter topic: nil for a caller that only asks questions, and can use any client.
    func client(
        readingTopic topic: String?, settings: KafkaSettings, log: Log, metrics: Metrics
    ) throws(ConfigurationError) -> ReaderClient {
        let result = clients.withLock { clients -> Result<ReaderClient, ConfigurationError> in
            for case let client? in clients.lazy.map(\.client) {
                let isUsable = topic.map(client.claim) ?? true
                if isUsable { return .success(client) }
            }
            let number = clients.firstIndex { $0.client == nil } ?? clients.count
            do throws(ConfigurationError) {
                let client = try ReaderClient(
                    settings: settings, name: "readers-\(number)", log: log, metrics: metrics)
                if let topic { _ = client.claim(topic) }
                if number == clients.count { clients.append(WeakClient()) }
                clients[number].client = client
                return .success(client)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The number of clients.
    package var clientCount: Int { clients.withLock { $0.count { $0.client != nil } } }
}

extension Cluster {
    /// Makes a reader of partitions of one topic, without a group.
    package func makeReader(
        of topic: String, outOfRange: ConsumerOptions.OutOfRangePolicy = .error, log: Log, metrics: Metrics
    ) throws -> PartitionReader {
        let client = try readers.client(
            readingTopic: topic, settings: settings, log: log, metrics: metrics)
        return try PartitionReader(of: topic, outOfRange: outOfRange, client: client)
    }

    /// Makes an object that asks the cluster through the client of the readers.
    package func makeQueries(log: Log, metrics: Metrics) throws -> ClusterQueries {
        try ClusterQueries(
            client: readers.client(readingTopic: nil, settings: settings, log: log, metrics: metrics))
    }
}
