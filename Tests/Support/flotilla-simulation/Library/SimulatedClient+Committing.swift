import Broker
import CSimulatedLibrary
import Lifecycle
import Simulation

/// A commit of offsets that is not a part of a transaction.
struct OffsetCommit {
    let offsets: [(partition: Partition, offset: Int64, metadata: String)]
    let group: GroupSnapshot
    let requestedAt: Instant
    /// The answer, and the time at which it comes. Nil while the coordinator has not answered.
    var answer: (code: rd_kafka_resp_err_t, at: Instant)?
}

extension SimulatedClient {
    /// The time after which a commit without an answer has failed.
    private static let commitMilliseconds = 60_000

    /// Returns a commit that is requested now, or nil without a group.
    func makeCommit(_ offsets: [(Partition, Int64, metadata: String)]) -> OffsetCommit? {
        membership.map {
            OffsetCommit(
                offsets: offsets.map { ($0, $1, $2) },
                group: GroupSnapshot(of: $0, instance: properties.instance), requestedAt: MachineClock.now)
        }
    }

    /// Sends the commits without an answer, in their order.
    func serveCommits() {
        if isDead { return }
        let now = MachineClock.now
        for index in commits.indices where commits[index].answer == nil {
            let isTooLate = now.milliseconds(since: commits[index].requestedAt) >= Self.commitMilliseconds
            guard let code = send(commits[index]) ?? (isTooLate ? RD_KAFKA_RESP_ERR__TIMED_OUT : nil) else {
                // The later commits wait for this one.
                break
            }
            let answeredAt = now.advanced(byMilliseconds: 1 + cluster.random.number(below: 3))
            commits[index].answer = (code, answeredAt)
            process.wake(at: answeredAt)
        }
    }

    /// Calls the callback of the commits whose answers have come, in their order.
    func reportCommits() {
        while let answer = commits.first?.answer, answer.at <= MachineClock.now {
            let commit = commits.removeFirst()
            let list = makeList(of: commit.offsets.map(\.partition))
            properties.onCommit?(pointer, answer.code, list, properties.opaque)
            rd_kafka_topic_partition_list_destroy(list)
        }
    }

    /// Asks the coordinator once. Returns nil if no answer came.
    func send(_ commit: OffsetCommit) -> rd_kafka_resp_err_t? {
        let slot = cluster.slot(of: commit.group.group)
        guard slot.isAvailable else { return nil }
        let request = OffsetCommitRequest(
            groupID: commit.group.group, generation: commit.group.generation,
            memberID: commit.group.memberID, instanceID: commit.group.instance,
            topics: commit.offsets.map {
                TopicPartitions(
                    topic: $0.partition.topic,
                    partitions: [
                        .init(
                            index: $0.partition.number, offset: $0.offset, leaderEpoch: -1,
                            metadata: $0.metadata)
                    ])
            })
        var error: ErrorCode?
        slot.handle(.commit(request), from: "rdkafka") {
            guard case .commit(let errors) = $0 else { return }
            error = errors.topics.flatMap(\.partitions).map(\.error).first { $0 != .none } ?? ErrorCode.none
        }
        cluster.deliverAnswers()
        switch error {
        case nil, .notCoordinator, .coordinatorLoadInProgress, .coordinatorNotAvailable: return nil
        case let error?:
            return cluster.losesAnswer() ? nil : rd_kafka_resp_err_t(Int32(error.rawValue))
        }
    }

    /// Commits, and lets the time pass until the answer.
    ///
    /// - Returns: nil after the limit.
    func commitAndWait(_ commit: OffsetCommit, withinMilliseconds limit: Int) -> rd_kafka_resp_err_t? {
        let start = MachineClock.now
        while !isDead {
            passRoundTrip()
            if let code = send(commit) { return code }
            if MachineClock.now.milliseconds(since: start) >= limit { break }
            MachineClock.advance(milliseconds: 20)
            cluster.serve()
        }
        return nil
    }
}
