package import Broker
package import Lifecycle

/// A model of a busy cluster ("weather"): topics that are not served yet, coordinators that move, nodes that are away.
/// It has the delays and errors that were observed on Apache Kafka, each as long or slightly longer, drawn from a seed.
/// It decides and performs no I/O. Its only input is the calls and their times.
package struct ClusterDelayModel: Sendable {
    /// The upper bounds of the random durations, in milliseconds.
    package enum Durations {
        /// From CreateTopics' answer until the metadata contains the topic.
        package static let topicUnknownMillisecondsMax = 100
        /// From then until the metadata names leaders.
        package static let topicLeaderlessMillisecondsMax = 150
        /// From then until the leaders serve.
        package static let topicNotServedMillisecondsMax = 600
        /// The time for which a deleted topic still exists.
        package static let topicDeletionMillisecondsMax = 150
        /// The start of coordinators. Sometimes it takes much longer, as when their topics are created.
        package static let coordinatorStartMillisecondsMax = 800
        package static let coordinatorLongStartMillisecondsMax = 3000
        /// The move of a coordinator, and the calm time before it.
        package static let coordinatorMoveMillisecondsMax = 400
        package static let coordinatorCalmMilliseconds = 5_000...40_000
        /// The absence of a node with the leaders of a third of all partitions.
        package static let nodeAbsenceMilliseconds = 500...4_000
        /// The time for which one partition has too few replicas.
        package static let tooFewReplicasMilliseconds = 500...4_000
        /// The calm time before each of the two outages above.
        package static let calmMilliseconds = 10_000...40_000
        /// The end of a transaction. The next transaction of its id must wait.
        package static let transactionEndMillisecondsMax = 30
        /// The delay of a slow answer. A few are much slower.
        package static let slowAnswerMilliseconds = 1...60
        package static let verySlowAnswerMilliseconds = 100...400
    }

    /// One in this many partition requests meets a wrong leader.
    private static let wrongLeaderOneIn = 400
    /// One in this many answers is slow, and one in this many slow answers is very slow.
    private static let slowAnswerOneIn = 60
    private static let verySlowAnswerOneIn = 20
    /// One in this many joins of a static member meets a coordinator that dies.
    private static let dyingCoordinatorOneIn = 8
    /// One in this many coordinators takes long for its first start.
    private static let longCoordinatorStartOneIn = 8
    private static let nodeCount = 3

    /// An outage of a node or of a partition's replicas, after a calm time.
    private struct Outage {
        var start: Instant
        var end: Instant

        init(after time: Instant, milliseconds length: ClosedRange<Int>, using random: inout SplitMix64) {
            start = time.advanced(byMilliseconds: Int.random(in: Durations.calmMilliseconds, using: &random))
            end = start.advanced(byMilliseconds: Int.random(in: length, using: &random))
        }
    }

    private struct Partition: Hashable {
        let topic: String
        let partition: Int32

        /// The node that leads the partition. It is the same in every run.
        var leader: Int {
            var hash = SplitMix64.number(forState: UInt64(UInt32(bitPattern: partition)))
            for byte in topic.utf8 { hash = SplitMix64.number(forState: hash ^ UInt64(byte)) }
            return Int(hash % UInt64(ClusterDelayModel.nodeCount))
        }
    }

    /// The times at which a new topic becomes known, led and served.
    private struct TopicStartTimes {
        var knownAt: Instant
        var leadersKnownAt: Instant
        var servedAt: Instant
    }

    /// The next absence of a coordinator. Until `loadingStart` no coordinator can be found. Then the new one can be
    /// found, and it loads until `end`.
    private struct CoordinatorAbsence {
        var start: Instant
        var end: Instant
        /// The answer to requests to the coordinator before `loadingStart`.
        var firstError: ErrorCode
        var loadingStart: Instant
    }

    private var random: SplitMix64
    private var startTimesOfTopics: [String: TopicStartTimes] = [:]
    private var groupCoordinator: CoordinatorAbsence
    private var transactionCoordinator: CoordinatorAbsence
    private var transactionEndTimes: [String: Instant] = [:]
    /// The current or next absence of each node.
    private var nodeOutages: [Outage]
    /// The current or next time in which one partition has too few replicas.
    private var replicaOutage: Outage
    /// The partition with too few replicas in the current outage.
    private var partitionWithTooFewReplicas: Partition?
    /// The instance ids of the static members whose join a dying coordinator accepted. The next coordinator finds the
    /// join, and fences the member.
    private var abandonedJoins: Set<String> = []

    package init(seed: UInt64, at now: Instant) {
        var random = SplitMix64(state: seed)
        func firstAbsence() -> CoordinatorAbsence {
            let isLong = Int.random(in: 0..<Self.longCoordinatorStartOneIn, using: &random) == 0
            let limit =
                isLong
                ? Durations.coordinatorLongStartMillisecondsMax : Durations.coordinatorStartMillisecondsMax
            return Self.absence(
                from: now, milliseconds: Int.random(in: 0...limit, using: &random),
                firstError: .coordinatorNotAvailable)
        }
        groupCoordinator = firstAbsence()
        transactionCoordinator = firstAbsence()
        nodeOutages = (0..<Self.nodeCount).map { _ in
            Outage(after: now, milliseconds: Durations.nodeAbsenceMilliseconds, using: &random)
        }
        replicaOutage = Outage(after: now, milliseconds: Durations.tooFewReplicasMilliseconds, using: &random)
        self.random = random
    }

    private static func absence(from start: Instant, milliseconds: Int, firstError: ErrorCode)
        -> CoordinatorAbsence
    {
        CoordinatorAbsence(
            start: start, end: start.advanced(byMilliseconds: milliseconds), firstError: firstError,
            loadingStart: start.advanced(byMilliseconds: milliseconds / 2))
    }

    // MARK: Topics

    /// Chooses the times at which a new topic becomes known, led and served.
    package mutating func recordCreation(ofTopic topic: String, at now: Instant) {
        let knownAt = now.advanced(
            byMilliseconds: randomMilliseconds(upTo: Durations.topicUnknownMillisecondsMax))
        let leadersKnownAt = knownAt.advanced(
            byMilliseconds: randomMilliseconds(upTo: Durations.topicLeaderlessMillisecondsMax))
        let servedAt = leadersKnownAt.advanced(
            byMilliseconds: randomMilliseconds(upTo: Durations.topicNotServedMillisecondsMax))
        startTimesOfTopics[topic] = TopicStartTimes(
            knownAt: knownAt, leadersKnownAt: leadersKnownAt, servedAt: servedAt)
    }

    package mutating func deletionDelayMilliseconds() -> Int {
        randomMilliseconds(upTo: Durations.topicDeletionMillisecondsMax)
    }

    /// Returns the part of a topic that the metadata shows now.
    package func visibility(of topic: String, at now: Instant) -> TopicVisibility {
        guard let startTimes = startTimesOfTopics[topic] else { return .whole }
        if now < startTimes.knownAt { return .unknown }
        return now < startTimes.leadersKnownAt ? .leaderless : .whole
    }

    /// Whether the topic's leaders answer, apart from wrong leaders and absent nodes.
    package func isServing(topic: String, at now: Instant) -> Bool {
        startTimesOfTopics[topic].map { now >= $0.servedAt } ?? true
    }

    /// Returns the error of a request to the partition's leader, or nil if the leader answers it.
    package mutating func refusal(
        byLeaderOf topic: String, partition: Int32, at now: Instant
    ) -> ErrorCode? {
        if !isServing(topic: topic, at: now) {
            return visibility(of: topic, at: now) == .unknown
                ? .unknownTopicOrPartition : .notLeaderOrFollower
        }
        if isAway(node: Partition(topic: topic, partition: partition).leader, at: now) {
            return .notLeaderOrFollower
        }
        return occurs(onceIn: Self.wrongLeaderOneIn) ? .notLeaderOrFollower : nil
    }

    /// Whether the node is absent now. Chooses its next absence if the last one is over.
    private mutating func isAway(node: Int, at now: Instant) -> Bool {
        while now >= nodeOutages[node].end {
            nodeOutages[node] = Outage(
                after: nodeOutages[node].end, milliseconds: Durations.nodeAbsenceMilliseconds, using: &random)
        }
        return now >= nodeOutages[node].start
    }

    /// Returns the error of an append, or nil. In each outage of replicas one partition has too few of them: the first
    /// one that gets an append.
    package mutating func refusal(
        ofAppendTo topic: String, partition: Int32, at now: Instant
    ) -> ErrorCode? {
        while now >= replicaOutage.end {
            replicaOutage = Outage(
                after: replicaOutage.end, milliseconds: Durations.tooFewReplicasMilliseconds, using: &random)
            partitionWithTooFewReplicas = nil
        }
        guard now >= replicaOutage.start else { return nil }
        let appended = Partition(topic: topic, partition: partition)
        partitionWithTooFewReplicas = partitionWithTooFewReplicas ?? appended
        return partitionWithTooFewReplicas == appended ? .notEnoughReplicas : nil
    }

    // MARK: Coordinators

    /// Returns the error of a call to a coordinator, or nil if the coordinator answers it.
    package mutating func refusal(by call: CoordinatorCall, at now: Instant) -> ErrorCode? {
        switch call {
        case .findGroup: return refusal(ofCoordinator: \.groupCoordinator, isSought: true, at: now)
        case .findTransaction:
            return refusal(ofCoordinator: \.transactionCoordinator, isSought: true, at: now)
        case .join(_, let instanceID):
            if let error = refusal(ofCoordinator: \.groupCoordinator, isSought: false, at: now) {
                return error
            }
            return instanceID.flatMap { refusal(ofJoinBy: $0, at: now) }
        case .group: return refusal(ofCoordinator: \.groupCoordinator, isSought: false, at: now)
        case .transaction(let id):
            if let error = refusal(ofCoordinator: \.transactionCoordinator, isSought: false, at: now) {
                return error
            }
            if let end = transactionEndTimes[id], now < end { return .concurrentTransactions }
            transactionEndTimes[id] = nil
            return nil
        case .end(let id):
            if let error = refusal(ofCoordinator: \.transactionCoordinator, isSought: false, at: now) {
                return error
            }
            transactionEndTimes[id] = now.advanced(
                byMilliseconds: randomMilliseconds(upTo: Durations.transactionEndMillisecondsMax))
            return nil
        }
    }

    /// Returns the error of a static member's join, or nil. A coordinator that dies while it holds the join leaves it to
    /// its successor. The member joins again, and is fenced by its own earlier join.
    private mutating func refusal(ofJoinBy instanceID: String, at now: Instant) -> ErrorCode? {
        if abandonedJoins.remove(instanceID) != nil { return .fencedInstanceID }
        guard occurs(onceIn: Self.dyingCoordinatorOneIn) else { return nil }
        abandonedJoins.insert(instanceID)
        groupCoordinator = Self.absence(
            from: now, milliseconds: randomMilliseconds(upTo: Durations.coordinatorMoveMillisecondsMax),
            firstError: .notCoordinator)
        return .notCoordinator
    }

    /// Returns the error of a coordinator that is absent now, or nil. Chooses the next absence if the last one is over.
    ///
    /// - Parameter isSought: Whether the request looks for the coordinator. It then gets "not available", and
    ///   otherwise "not coordinator".
    private mutating func refusal(
        ofCoordinator coordinator: WritableKeyPath<Self, CoordinatorAbsence>, isSought: Bool, at now: Instant
    ) -> ErrorCode? {
        while now >= self[keyPath: coordinator].end {
            let calm = Int.random(in: Durations.coordinatorCalmMilliseconds, using: &random)
            let start = self[keyPath: coordinator].end.advanced(byMilliseconds: calm)
            self[keyPath: coordinator] = Self.absence(
                from: start, milliseconds: randomMilliseconds(upTo: Durations.coordinatorMoveMillisecondsMax),
                firstError: .notCoordinator)
        }
        let absence = self[keyPath: coordinator]
        guard now >= absence.start else { return nil }
        // When the new node is known, it loads. It can be found, and it answers that it loads.
        if now >= absence.loadingStart { return isSought ? nil : .coordinatorLoadInProgress }
        if isSought { return .coordinatorNotAvailable }
        return absence.firstError
    }

    // MARK: Answers

    /// Returns the delay of an answer, or nil for most answers.
    package mutating func responseDelayMilliseconds() -> Int? {
        guard occurs(onceIn: Self.slowAnswerOneIn) else { return nil }
        let isVerySlow = occurs(onceIn: Self.verySlowAnswerOneIn)
        return Int.random(
            in: isVerySlow ? Durations.verySlowAnswerMilliseconds : Durations.slowAnswerMilliseconds,
            using: &random)
    }

    private mutating func randomMilliseconds(upTo limit: Int) -> Int {
        Int.random(in: 0...limit, using: &random)
    }
    private mutating func occurs(onceIn count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
}
