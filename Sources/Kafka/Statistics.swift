/// What is kept of the library's statistics: what an operator asks about a client.
package struct Statistics: Sendable, Equatable {
    package struct Partition: Sendable, Equatable {
        /// Nil while nothing is known, that is while the partition is not ours.
        package var lag: Int?
        package var high: Int?
        package var stable: Int?
    }

    package var queuedRecords = 0
    package var queuedBytes = 0
    package var brokersUp = 0
    /// The slowest broker's 99th percentile.
    package var roundTripSeconds = 0.0
    package var assignedPartitions = 0
    package var partitions: [TopicPartition: Partition] = [:]

    package init() {}

    /// Takes what it recognises and leaves the rest; text that is no JSON gives what came before the fault.
    package init(json: Span<UInt8>) {
        var scanner = StatisticsScanner(json)
        var seen = Statistics()
        scanner.visit { path, leaf in seen.take(path, leaf) }
        self = seen
    }

    private mutating func take(_ path: [String], _ leaf: StatisticsScanner.Leaf) {
        switch (path.count, path.first) {
        case (1, "msg_cnt"): queuedRecords = leaf.integer ?? 0
        case (1, "msg_size"): queuedBytes = leaf.integer ?? 0
        case (2, "cgrp") where path[1] == "assignment_size": assignedPartitions = leaf.integer ?? 0
        case (3, "brokers") where path[2] == "state" && leaf == .text("UP"): brokersUp += 1
        case (4, "brokers") where path[2] == "rtt" && path[3] == "p99":
            roundTripSeconds = max(roundTripSeconds, Double(leaf.integer ?? 0) / 1_000_000)
        case (5, "topics"): takePartition(path, leaf)
        default: break
        }
    }

    private mutating func takePartition(_ path: [String], _ leaf: StatisticsScanner.Leaf) {
        guard let number = Int32(path[3]), number >= 0, let value = leaf.integer, value >= 0 else { return }
        let partition = TopicPartition(path[1], number)
        switch path[4] {
        case "consumer_lag": partitions[partition, default: Partition()].lag = value
        case "hi_offset": partitions[partition, default: Partition()].high = value
        case "ls_offset": partitions[partition, default: Partition()].stable = value
        default: break
        }
    }
}
