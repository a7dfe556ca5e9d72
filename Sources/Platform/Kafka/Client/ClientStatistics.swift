/// The part of the library's statistics that an operator needs. The library reports them as JSON:
///
///     { "msg_cnt": 3, "msg_size": 900, "cgrp": { "assignment_size": 4 },
///       "brokers": { "kafka:9092/1": { "state": "UP", "connects": 2, "rtt": { "p99": 800 } } },
///       "topics": { "jobs": { "partitions": { "0": {
///           "fetch_state": "active", "app_offset": 70, "hi_offset": 90, "ls_offset": 80 } } } } }
package struct ClientStatistics: Sendable, Equatable {
    package struct PartitionStatistics: Sendable, Equatable {
        /// Whether this client reads the partition.
        package var isFetched = false
        /// The offset after the last delivered record.
        package var position: Int?
        package var highWatermark: Int?
        package var lastStableOffset: Int?

        package init() {}

        /// The number of readable records that were not delivered yet, or nil if the partition is not
        /// assigned to this client. The library's own figure counts from its own commits and ignores offsets
        /// that transactions commit.
        package var lag: Int? {
            guard isFetched, let position, let end = lastStableOffset ?? highWatermark else { return nil }
            return max(0, end - position)
        }
    }

    /// The records that were produced and not yet acknowledged, and their size.
    package var queuedRecords = 0
    package var queuedBytes = 0
    /// The brokers to which the client has a connection.
    package var brokersUp = 0
    /// The attempts to connect to any broker since the client was made.
    package var connectionAttempts = 0
    /// The 99th percentile of the slowest broker's round trips.
    package var roundTripSeconds = 0.0
    package var assignedPartitions = 0
    package var partitions: [TopicPartition: PartitionStatistics] = [:]

    package init() {}

    /// Reads the known keys and ignores the rest. Invalid JSON gives the values before the fault.
    package init(json: Span<UInt8>) {
        var scanner = StatisticsScanner(json: json)
        var statistics = ClientStatistics()
        scanner.visit(only: Self.requestedKeys) { path, leaf in statistics.read(path: path, leaf: leaf) }
        self = statistics
    }

    /// Returns the keys to read in the object at a path, or nil for all. They are a hundredth of the text.
    /// The path's length distinguishes the levels: the names of brokers and topics are keys too.
    private static func requestedKeys(below path: [String]) -> [StaticString]? {
        switch (path.count, path.first) {
        case (0, _): ["msg_cnt", "msg_size", "cgrp", "brokers", "topics"]
        case (1, "cgrp"): ["assignment_size"]
        case (1, "brokers"), (1, "topics"), (3, "topics"): nil
        case (2, "brokers"): ["state", "rtt", "connects"]
        case (2, "topics"): ["partitions"]
        case (3, "brokers"): ["p99"]
        case (4, "topics"): ["fetch_state", "app_offset", "hi_offset", "ls_offset"]
        default: []
        }
    }

    private mutating func read(path: [String], leaf: StatisticsScanner.Leaf) {
        switch (path.count, path.first) {
        case (1, "msg_cnt"): queuedRecords = leaf.integer ?? 0
        case (1, "msg_size"): queuedBytes = leaf.integer ?? 0
        case (2, "cgrp") where path[1] == "assignment_size": assignedPartitions = leaf.integer ?? 0
        case (3, "brokers") where path[2] == "state" && leaf == .text("UP"): brokersUp += 1
        case (3, "brokers") where path[2] == "connects": connectionAttempts += leaf.integer ?? 0
        case (4, "brokers") where path[2] == "rtt" && path[3] == "p99":
            let microseconds = leaf.integer ?? 0
            roundTripSeconds = max(roundTripSeconds, Double(microseconds) / 1_000_000)
        case (5, "topics"): readPartition(path: path, leaf: leaf)
        default: break
        }
    }

    private mutating func readPartition(path: [String], leaf: StatisticsScanner.Leaf) {
        // Partition −1 collects records without a partition.
        guard let number = Int32(path[3]), number >= 0 else { return }
        // A negative offset is not known yet.
        let offset = leaf.integer.flatMap { $0 >= 0 ? $0 : nil }
        let partition = TopicPartition(path[1], number)
        switch path[4] {
        case "fetch_state":
            partitions[partition, default: PartitionStatistics()].isFetched = leaf == .text("active")
        case "app_offset": partitions[partition, default: PartitionStatistics()].position = offset
        case "hi_offset": partitions[partition, default: PartitionStatistics()].highWatermark = offset
        case "ls_offset": partitions[partition, default: PartitionStatistics()].lastStableOffset = offset
        default: break
        }
    }
}
