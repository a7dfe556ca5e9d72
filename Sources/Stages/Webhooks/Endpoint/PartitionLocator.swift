internal import CatalogRecords
internal import Kafka

/// The search for the cursors of newly assigned partitions in the answers of Kafka: committed offsets, the
/// bounds of the partitions, and the first records since a time. It does no I/O: it names the queries, and
/// takes their results.
struct PartitionLocator {
    private let endpoint: WebhookEndpoint
    let partitions: [TopicPartition]
    /// Returns the name of a topic without the prefix.
    private let topicName: (String) -> String
    private var committed: [TopicPartition: CommittedOffset] = [:]
    private var bounds: [TopicPartition: Watermarks] = [:]
    /// The offsets of the first records since a time, by that time. Nil for a partition without such a record.
    private var firstRecords: [Int64: [TopicPartition: Int64?]] = [:]

    init(
        of partitions: [TopicPartition], for endpoint: WebhookEndpoint,
        topicName: @escaping (String) -> String
    ) {
        self.partitions = partitions
        self.endpoint = endpoint
        self.topicName = topicName
    }

    /// The queries whose results are missing. Empty if all cursors are known.
    ///
    /// The bounds are asked before the first records. A partition without a record since the time starts at the end in
    /// these bounds, so that no record between the two answers is lost.
    var missingQueries: [OffsetQuery] {
        var queries: [OffsetQuery] = []
        let awaitingCommitted = partitions.filter { committed[$0] == nil }
        if !awaitingCommitted.isEmpty { queries.append(.committedOffsets(awaitingCommitted)) }
        let awaitingBounds = partitions.filter { bounds[$0] == nil }
        if !awaitingBounds.isEmpty { queries.append(.watermarks(awaitingBounds)) }
        if !queries.isEmpty { return queries }
        let byTime = Dictionary(
            grouping: partitions.compactMap { partition in
                neededTime(of: partition).map { (time: $0, partition: partition) }
            }, by: { $0.time })
        return byTime.compactMap { time, needed -> OffsetQuery? in
            let missing = needed.map { $0.partition }.filter { firstRecords[time]?[$0] == nil }
            return missing.isEmpty ? nil : .firstRecords(sinceMilliseconds: time, missing)
        }
    }

    mutating func add(_ result: OffsetQueryResult) {
        switch result {
        case .committedOffsets(let offsets): for offset in offsets { committed[offset.partition] = offset }
        case .watermarks(let marks): bounds.merge(marks) { $1 }
        case .firstRecords(let time, let offsets): firstRecords[time, default: [:]].merge(offsets) { $1 }
        case .failed: break
        }
    }

    private func committedCursor(of partition: TopicPartition) -> CommittedCursor? {
        committed[partition].flatMap { committed in
            committed.offset.map { CommittedCursor(next: $0, metadata: committed.metadata) }
        }
    }

    /// The replay that this partition has not carried out yet, or nil.
    private func pendingReplay(of partition: TopicPartition) -> WebhookEndpoint.Replay? {
        guard let replay = endpoint.replay else { return nil }
        return (committedCursor(of: partition)?.replay ?? 0) < replay.requestedAt ? replay : nil
    }

    /// The time at which the partition starts, or nil if it starts at an offset.
    private func neededTime(of partition: TopicPartition) -> Int64? {
        if case .time(let time) = pendingReplay(of: partition)?.start { return time }
        return committedCursor(of: partition) == nil ? endpoint.createdAt : nil
    }

    /// Returns the cursor of a partition. All queries must have results.
    func cursor(of partition: TopicPartition) -> PartitionCursor {
        guard let bounds = bounds[partition] else { preconditionFailure("the bounds are known") }
        let committed = committedCursor(of: partition)
        // Records below the lower bound were deleted. Records from `next` on are read in any case.
        let next = max(bounds.low, firstNew(of: partition, committed: committed, bounds: bounds))
        let open = (committed?.openOffsets ?? [:]).filter { $0.key >= bounds.low && $0.key < next }
        return PartitionCursor(firstNew: next, restored: open)
    }

    /// Returns the offset of the first record that counts as new. A replay sets it back, and never skips records that
    /// were not read.
    private func firstNew(
        of partition: TopicPartition, committed: CommittedCursor?, bounds: Watermarks
    ) -> Int64 {
        if let time = neededTime(of: partition) {
            // Without a record since the time, the partition starts at the end that was asked for before.
            let first = (firstRecords[time]?[partition] ?? nil) ?? bounds.high
            return min(first, committed?.next ?? first)
        }
        // `neededTime` is nil, so there is a committed cursor.
        let next = committed?.next ?? bounds.high
        if case .offset(let topic, let number, let offset) = pendingReplay(of: partition)?.start,
            topic == topicName(partition.topic), number == partition.partition
        {
            return min(offset, next)
        }
        return next
    }

    /// Returns the offset at which reading a partition starts.
    func start(of partition: TopicPartition, source: WebhookSource, cursor: PartitionCursor) -> Int64 {
        guard let bounds = bounds[partition] else { preconditionFailure("the bounds are known") }
        return source.isReadFromBeginning ? bounds.low : max(bounds.low, cursor.start)
    }

    /// Returns the number of records that were deleted before they were read.
    func skippedCount(of partition: TopicPartition) -> Int64 {
        guard let next = committedCursor(of: partition)?.next, let low = bounds[partition]?.low else {
            return 0
        }
        return max(0, low - next)
    }
}

extension OffsetQuery {
    var partitionCount: Int {
        switch self {
        case .committedOffsets(let partitions), .watermarks(let partitions), .firstRecords(_, let partitions):
            partitions.count
        }
    }
}

extension OffsetQueryResult {
    /// The partitions of this part of a result.
    var partitionCount: Int {
        switch self {
        case .committedOffsets(let offsets): offsets.count
        case .watermarks(let marks): marks.count
        case .firstRecords(_, let offsets): offsets.count
        case .failed(let partitions, _): partitions.count
        }
    }
}
