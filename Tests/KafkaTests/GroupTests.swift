import Glibc
import KafkaTesting
import Lifecycle
import Telemetry
import Testing

@testable import Kafka

// The membership in a consumer group, on the mock cluster with the topic `jobs` of four partitions. A member gets an event
// `offered`, and begins to read with `assignFromCommittedOffsets`. Before it loses partitions it gets `revoked` and gives
// them back with `release`. If they are gone already, it gets `lost`.

/// Makes a consumer that is a member of a group.
///
/// - Parameter sessionMilliseconds: The session timeout. It must exceed the 3 s for which the mock delays the first
///   member.
private func makeMember(
    _ cluster: MockCluster, group: String, instance: String? = nil, sessionMilliseconds: Int = 4000,
    _ change: (inout ConsumerOptions) -> Void = { _ in }
) throws -> Consumer {
    var options = ConsumerOptions(membership: .group(group, instanceID: instance, topics: ["jobs"]))
    options.sessionMilliseconds = sessionMilliseconds
    options.pollMillisecondsMax = 20_000
    options.readsOpenTransactions = true
    change(&options)
    return try Consumer(
        settings: KafkaSettings(cluster), options: options, name: group, log: .silent, metrics: Metrics())
}

/// Polls until an event matches, and returns it. Does not answer events.
private func waitForEvent(
    of consumer: Consumer, into records: inout [RecordCopy], where isMatch: (ConsumerEvent) -> Bool
) throws -> ConsumerEvent? {
    var batch = RecordBatch()
    var event: ConsumerEvent?
    _ = try eventually(within: 30_000) {
        event = consumer.read(&batch, into: &records).first(where: isMatch)
        return event != nil
    }
    return event
}

/// Waits until partitions are offered, and reads them from their committed offsets.
private func join(_ consumer: Consumer) throws -> [TopicPartition] {
    var records: [RecordCopy] = []
    let event = try waitForEvent(of: consumer, into: &records) {
        if case .offered = $0 { true } else { false }
    }
    guard case .offered(let partitions) = event else { return [] }
    try consumer.assignFromCommittedOffsets(partitions)
    return partitions
}

/// Writes numbered records to the four partitions in turn.
private func writeRecords(_ count: Int, to cluster: MockCluster) throws {
    let producer = try makeProducer(cluster)
    let topic = try producer.topic(named: "jobs")
    var deliveries: [Delivery] = []
    for index in 0..<count {
        #expect(
            producer.put(
                key: nil, value: "\(index)", to: topic, partition: Int32(index % 4), collecting: &deliveries)
                == .queued)
    }
    #expect(producer.flush(withinMilliseconds: 20_000, into: &deliveries) == 0)
}

/// The answers are in flight while a partition is paused, sought and resumed, as at a takeover.
@Test func `a late answer about partition beginnings does not undo a seek`() async throws {
    try await onThread {
        let cluster = try makeCluster()
        try writeRecords(40, to: cluster)
        let consumer = try makeMember(cluster, group: "late")
        var records: [RecordCopy] = []
        let event = try waitForEvent(of: consumer, into: &records) {
            if case .offered = $0 { true } else { false }
        }
        guard case .offered(let partitions) = event else {
            Issue.record("no partitions are offered")
            return
        }
        var batch = RecordBatch()

        // If the library knows the leader but not the beginning, it asks at once.
        try consumer.assign(
            startingAt: partitions.map { PartitionStart(partition: $0, position: .offset(0)) })
        consumer.pause(partitions)
        _ = try consumer.watermarks(of: partitions[0])
        let leadersKnownAt = Instant.now().advanced(byMilliseconds: 500)
        while Instant.now() < leadersKnownAt { _ = consumer.read(&batch, into: &records) }
        cluster.setRoundTripTime(milliseconds: 200)
        try consumer.assign(
            startingAt: partitions.map { PartitionStart(partition: $0, position: .beginning) })
        consumer.pause(partitions)
        let starts = partitions.map { PartitionStart(partition: $0, position: .offset(5)) }
        try consumer.seek(to: starts)
        consumer.resume(partitions)
        try consumer.seek(to: starts)

        // Longer than the library waits before it asks again.
        let end = Instant.now().advanced(byMilliseconds: 3000)
        while Instant.now() < end { _ = consumer.read(&batch, into: &records) }
        #expect(records.count == 20 && records.allSatisfy { $0.offset >= 5 }, "\(records.map(\.offset))")
        #expect(consumer.close())
    }
}

@Test func `synchronous and asynchronous commits carry metadata and decide where a partition begins`()
    async throws
{
    try await onThread {
        let cluster = try makeCluster()
        try writeRecords(40, to: cluster)
        let consumer = try makeMember(cluster, group: "metadata")
        let partitions = try join(consumer)
        #expect(partitions.count == 4)
        let first = TopicPartition("jobs", 0)
        let second = TopicPartition("jobs", 1)
        #expect(try consumer.committedOffsets(of: [first]).map(\.offset) == [nil])
        #expect(
            consumer.commit([OffsetToCommit(partition: first, offset: 3, metadata: "receipts=17")])
                == .committed)
        #expect(
            consumer.commitAsynchronously([
                OffsetToCommit(partition: second, offset: 5, metadata: "receipts=18")
            ]) == nil)
        var records: [RecordCopy] = []
        let event = try waitForEvent(of: consumer, into: &records) {
            if case .committed = $0 { true } else { false }
        }
        #expect(event == .committed([second], .committed))
        let committed = try consumer.committedOffsets(of: [first, second])
        #expect(committed.map(\.offset) == [3, 5])
        #expect(committed.map(\.metadata) == ["receipts=17", "receipts=18"])
        #expect(consumer.close())

        // 40 records without the 3 and the 5 that are committed.
        let successor = try makeMember(cluster, group: "metadata")
        _ = try join(successor)
        let remaining = try successor.read(atLeast: 32)
        #expect(remaining.filter { $0.partition == 0 }.map(\.offset) == Array(3..<10))
        #expect(remaining.filter { $0.partition == 2 }.map(\.offset) == Array(0..<10))
        #expect(successor.close())
    }
}

@Test(arguments: [KafkaErrorCode.illegalGeneration, .rebalanceInProgress, .unknownMember])
func `a commit that fails in a rebalance is not fatal, and its records are read again`(code: KafkaErrorCode)
    async throws
{
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let consumer = try makeMember(cluster, group: "rebalancing")
        _ = try join(consumer)
        cluster.failNext(.offsetCommit, with: code.rawValue)
        let outcome = consumer.commit([OffsetToCommit(partition: TopicPartition("jobs", 0), offset: 0)])
        #expect(outcome == .willBeReadAgain(code))
        #expect(consumer.fatalError == nil)
        #expect(consumer.close())
    }
}

@Test func `a coordinator that moves loses neither membership nor commits`() async throws {
    try await onThread {
        let cluster = try makeCluster()
        cluster.setCoordinator(ofGroup: "moving", broker: 1)
        let consumer = try makeMember(cluster, group: "moving")
        _ = try join(consumer)
        #expect(
            consumer.commit([OffsetToCommit(partition: TopicPartition("jobs", 0), offset: 0)]) == .committed)
        cluster.setCoordinator(ofGroup: "moving", broker: 2)
        var records: [RecordCopy] = []
        var batch = RecordBatch()
        #expect(
            try eventually {
                for event in consumer.read(&batch, into: &records) {
                    if case .offered(let partitions) = event {
                        try consumer.assignFromCommittedOffsets(partitions)
                    }
                    if case .revoked = event { try consumer.release() }
                    if case .lost = event { try consumer.release() }
                }
                return consumer.commit([OffsetToCommit(partition: TopicPartition("jobs", 0), offset: 0)])
                    == .committed
            })
        #expect(consumer.fatalError == nil)
        #expect(consumer.close())
    }
}

@Test func `a member drains and commits before it loses partitions, and the next owner begins there`()
    async throws
{
    try await onThread {
        let cluster = try makeCluster()
        try writeRecords(40, to: cluster)
        let first = try makeMember(cluster, group: "draining")
        #expect(try join(first).count == 4)
        #expect(try first.read(atLeast: 40).count == 40)
        let epoch = first.epoch

        // A second member joins. The first one is asked to give partitions back until a deadline.
        let second = try makeMember(cluster, group: "draining")
        var offersToSecond = 0
        var releaseDeadline: Instant?
        var records: [RecordCopy] = []
        var batch = RecordBatch()
        let isFirstAsked = try eventually(within: 30_000) {
            for case .revoked(_, let by) in first.read(&batch, into: &records, waitMilliseconds: 5) {
                releaseDeadline = by
            }
            for case .offered in second.read(&batch, into: &records, waitMilliseconds: 5) {
                offersToSecond += 1
            }
            return releaseDeadline != nil
        }
        #expect(
            isFirstAsked && offersToSecond == 0, "no member gets a partition before its owner released it")
        #expect(releaseDeadline! > Instant.now())
        // Still ours: the drain may commit its current work, also in a transaction.
        #expect(first.epoch == epoch && !first.isAssignmentLost)
        #expect(first.captureGroupMetadata(forEpoch: epoch) != nil)
        // Apache Kafka accepts a commit at this point, but the mock does not.
        let outcome = first.commit(
            (0..<4).map { OffsetToCommit(partition: TopicPartition("jobs", $0), offset: 10) })
        let committedOffset: Int64? = outcome == .committed ? 10 : nil
        #expect(outcome == .committed || outcome == .willBeReadAgain(.rebalanceInProgress))
        try first.release()
        #expect(first.captureGroupMetadata(forEpoch: epoch) == nil)

        // On a busy machine this can take more than one rebalance.
        let shared = try eventually(within: 40_000) {
            for consumer in [first, second] {
                for event in consumer.read(&batch, into: &records, waitMilliseconds: 5) {
                    switch event {
                    case .offered(let partitions): try consumer.assignFromCommittedOffsets(partitions)
                    case .revoked, .lost: try consumer.release()
                    default: break
                    }
                }
            }
            return first.partitions.count == 2 && second.partitions.count == 2
        }
        #expect(shared && first.partitions.isDisjoint(with: second.partitions))
        #expect(
            try second.committedOffsets(of: Array(second.partitions)).map(\.offset)
                == [committedOffset, committedOffset])
        #expect(first.close())
        #expect(second.close())
    }
}

@Test func `a member that stops polling for too long loses its partitions and cannot commit`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        try writeRecords(8, to: cluster)
        let consumer = try makeMember(cluster, group: "zombie") { $0.pollMillisecondsMax = 4000 }
        _ = try join(consumer)
        _ = try consumer.read(atLeast: 8)
        let epoch = consumer.epoch
        #expect(consumer.isAssignmentCertain(at: consumer.lastPolledAt))
        // The member stops polling. The library itself reports that it has left the group.
        #expect(try eventually { consumer.isAssignmentLost })
        #expect(!consumer.isAssignmentCertain(at: .now()))
        let outcome = consumer.commit([OffsetToCommit(partition: TopicPartition("jobs", 0), offset: 2)])
        #expect(outcome == .willBeReadAgain(.assignmentLost))
        #expect(consumer.captureGroupMetadata(forEpoch: epoch) == nil)
        var records: [RecordCopy] = []
        let event = try waitForEvent(of: consumer, into: &records) {
            if case .lost = $0 { true } else { false }
        }
        guard case .lost(let partitions) = event else {
            Issue.record("no loss")
            return
        }
        #expect(partitions.count == 4)
        #expect(records.isEmpty)
        try consumer.release()
        // The member joins again as a new member.
        #expect(try join(consumer).count == 4)
        #expect(consumer.epoch > epoch)
        #expect(consumer.close())
    }
}

@Test func `a member that was suspended but not evicted acts again after a commit succeeds`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let consumer = try makeMember(cluster, group: "suspended")
        _ = try join(consumer)
        var batch = RecordBatch()
        _ = consumer.poll(into: &batch)
        let jobs = OffsetToCommit(partition: TopicPartition("jobs", 0), offset: 0)
        // A thread of the library sends the heartbeats, so the group notices nothing.
        let pauseMilliseconds = consumer.options.sessionMilliseconds - Consumer.sessionMarginMilliseconds
        let lastPolledAt = consumer.lastPolledAt
        let hasPaused = try eventually { Instant.now().milliseconds(since: lastPolledAt) > pauseMilliseconds }
        #expect(hasPaused && !consumer.isAssignmentCertain(at: .now()))
        let events = consumer.poll(into: &batch)
        let isSuspensionReported = events.contains {
            if case .suspended(let milliseconds) = $0 { milliseconds >= pauseMilliseconds } else { false }
        }
        #expect(isSuspensionReported && !consumer.isAssignmentCertain(at: consumer.lastPolledAt))
        #expect(consumer.commit([jobs]) == .committed)
        #expect(consumer.isAssignmentCertain(at: consumer.lastPolledAt))
        #expect(consumer.close())
    }
}

@Test func `a member that the coordinator has forgotten gets a loss of its partitions`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let consumer = try makeMember(cluster, group: "forgotten")
        _ = try join(consumer)
        cluster.failNext(.heartbeat, with: KafkaErrorCode.unknownMember.rawValue)
        var records: [RecordCopy] = []
        let event = try waitForEvent(of: consumer, into: &records) {
            if case .lost = $0 { true } else { false }
        }
        #expect(event != nil)
        try consumer.release()
        #expect(try join(consumer).count == 4)
        #expect(consumer.close())
    }
}

@Test func `a static member gets its partitions again after a restart`() async throws {
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let consumer = try makeMember(cluster, group: "static", instance: "flotilla.sender.0001.0")
        #expect(try join(consumer).count == 4)
        #expect(consumer.close())
        let restarted = try makeMember(cluster, group: "static", instance: "flotilla.sender.0001.0")
        #expect(try join(restarted).count == 4)
        #expect(restarted.close())
    }
}

@Test func `a fenced member loses its partitions at once and joins again with a new client`()
    async throws
{
    try await onThread {
        let cluster = try makeCluster(brokers: 1)
        let consumer = try makeMember(cluster, group: "fenced", instance: "flotilla.sender.0002.0")
        _ = try join(consumer)
        let epoch = consumer.epoch
        #expect(consumer.isAssignmentCertain(at: .now()))
        cluster.failNext(.heartbeat, with: KafkaErrorCode.fencedInstance.rawValue)
        var records: [RecordCopy] = []
        let event = try waitForEvent(of: consumer, into: &records) {
            if case .lost = $0 { true } else { false }
        }
        guard case .lost(let partitions) = event else {
            Issue.record("\(String(describing: event))")
            return
        }
        #expect(partitions.count == 4)
        #expect(!consumer.isAssignmentCertain(at: .now()))
        #expect(consumer.captureGroupMetadata(forEpoch: epoch) == nil)
        try consumer.release()
        #expect(try join(consumer).count == 4)
        #expect(consumer.isAssignmentCertain(at: .now()))
        #expect(consumer.close())
    }
}

/// A stage that stops during a rebalance does not poll any more. The group's offer is still unread when the
/// consumer closes.
@Test(arguments: [nil, "static"]) func `a member closes while an offer is unread`(instance: String?)
    async throws
{
    try await onThread {
        let cluster = try makeCluster()
        let consumer = try makeMember(cluster, group: "unread", instance: instance)
        #expect(Consumer.wait(forAnyOf: [consumer.descriptor], milliseconds: 20_000))
        #expect(consumer.close(withinMilliseconds: 3000))
    }
}
