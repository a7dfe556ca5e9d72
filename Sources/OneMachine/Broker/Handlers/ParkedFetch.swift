internal import Lifecycle

/// A Fetch request with the logs that it names. If it cannot be answered at once, it waits ("is parked")
/// until there are records or its time is over.
final class ParkedFetch {
    let request: FetchRequest
    let exchange: RequestExchange
    /// The logs by topic and partition of the request; nil for an unknown partition.
    private(set) var targets: [[PartitionLog?]]
    /// All known logs of the request, in one list.
    private(set) var logs: [PartitionLog]
    /// The errors that a test injects, by topic and partition of the request.
    private let refusals: [[ErrorCode?]]?
    /// The timer of its wait; nil if it does not wait.
    var timer: LoopTimer?
    var isWaiting: Bool { timer != nil }
    /// Whether the handler checks it at the end of the loop's iteration.
    var isWoken = false

    init(
        _ request: FetchRequest, on exchange: RequestExchange, targets: [[PartitionLog?]],
        refusals: [[ErrorCode?]]? = nil
    ) {
        self.request = request
        self.exchange = exchange
        self.targets = targets
        logs = targets.flatMap { $0.compactMap { $0 } }
        self.refusals = refusals
    }

    /// Returns the error of a partition of the request, by its index.
    func error(topic: Int, partition: Int) -> ErrorCode? {
        if let error = refusals?[topic][partition] { return error }
        guard let log = targets[topic][partition] else { return .unknownTopicOrPartition }
        return FetchResponse.error(of: request.topics[topic].partitions[partition], in: log)
    }

    /// Removes a log whose topic was deleted.
    func removeLog(_ log: PartitionLog) {
        targets = targets.map { logs in logs.map { $0 === log ? nil : $0 } }
        logs.removeAll { $0 === log }
    }

    /// Whether the answer is ready without a look at its size: a partition has an error, a byte is enough
    /// and there is one, or the request names no partition or no minimum.
    var isReady: Bool {
        var hasNoPartitions = true
        for (topicIndex, topic) in request.topics.enumerated() {
            for (index, partition) in topic.partitions.enumerated() {
                hasNoPartitions = false
                guard let log = targets[topicIndex][index], error(topic: topicIndex, partition: index) == nil
                else {
                    return true
                }
                if request.bytesMin <= 1, partition.offset < readLimit(of: log) { return true }
            }
        }
        return hasNoPartitions || request.bytesMin <= 0
    }

    /// Whether a partition has a record at or above the requested offset.
    var hasData: Bool {
        for (topic, logs) in zip(request.topics, targets) {
            for (partition, log) in zip(topic.partitions, logs) {
                if let log, partition.offset < readLimit(of: log) { return true }
            }
        }
        return false
    }

    /// The offset at which the reader must stop.
    private func readLimit(of log: PartitionLog) -> Int64 {
        request.readsCommitted ? log.lastStableOffset : log.highWatermark
    }
}
