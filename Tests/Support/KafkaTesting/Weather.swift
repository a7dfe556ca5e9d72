package import Broker
package import Lifecycle

/// The behavior of a cluster whose nodes learn decisions late. It has the unavailable moments that were
/// observed on Apache Kafka, each as long or slightly longer, drawn from a seed. It decides and performs no
/// I/O. Its only input is the calls and their times.
package struct Weather: Sendable {
    /// The upper bounds of the random durations, in milliseconds.
    package enum Limits {
        /// From CreateTopics' answer until the metadata contains the topic.
        package static let unknown = 100
        /// From then until the metadata names leaders.
        package static let leaderless = 150
        /// From then until the leaders serve.
        package static let unserved = 600
        /// The time for which a deleted topic still exists.
        package static let lingering = 150
        /// The start of coordinators. Sometimes it takes much longer, as when their topics are created.
        package static let starting = 800
        package static let startingLong = 3000
        /// The move of a coordinator, and the calm time before it.
        package static let moving = 400
        package static let fair = 5_000...40_000
        /// The absence of a node with the leaders of a third of all partitions, and the calm time before it.
        package static let nodeAway = 500...4_000
        /// The time for which one partition has too few replicas, and the calm time before it.
        package static let shrunk = 500...4_000
        package static let calm = 10_000...40_000
        /// The end of a transaction. The next transaction of its id must wait.
        package static let ending = 30
    }

    /// One in this many partition requests meets a wrong leader, and one in this many answers is slow.
    private static let strayLeaderOneIn = 400
    private static let slowAnswerOneIn = 60
    /// One in this many joins of a static member meets a coordinator that dies.
    private static let dyingCoordinatorOneIn = 8
    private static let nodes = 3

    /// A time in which something fails, after a calm time.
    private struct Spell {
        var start: Instant
        var end: Instant

        init(after time: Instant, _ length: ClosedRange<Int>, _ numbers: inout SplitMix64) {
            start = time.advanced(byMilliseconds: Int.random(in: Limits.calm, using: &numbers))
            end = start.advanced(byMilliseconds: Int.random(in: length, using: &numbers))
        }
    }

    private struct Place: Hashable {
        let topic: String
        let partition: Int32

        /// The node that leads the partition. It is the same in every run.
        var node: Int {
            var mixed = SplitMix64.number(forState: UInt64(UInt32(bitPattern: partition)))
            for byte in topic.utf8 { mixed = SplitMix64.number(forState: mixed ^ UInt64(byte)) }
            return Int(mixed % UInt64(Weather.nodes))
        }
    }

    /// The times at which a new topic becomes known, led and served.
    private struct Dawn {
        var known: Instant
        var led: Instant
        var served: Instant
    }

    /// The next absence of a coordinator.
    private struct Absence {
        var start: Instant
        var end: Instant
        /// Its answer until it starts to load.
        var first: ErrorCode
        var loading: Instant
    }

    private var numbers: SplitMix64
    private var dawns: [String: Dawn] = [:]
    private var groups: Absence
    private var transactions: Absence
    private var endings: [String: Instant] = [:]
    /// The next absence of each node.
    private var nodesAway: [Spell]
    private var shrunk: Spell
    /// The partition with too few replicas in the present spell.
    private var shrunkPlace: Place?
    /// The static members whose join a dying coordinator took. The next coordinator finds it, and fences the member.
    private var abandonedJoins: Set<String> = []

    package init(seed: UInt64, at now: Instant) {
        var numbers = SplitMix64(state: seed)
        func start() -> Absence {
            let isLong = Int.random(in: 0..<8, using: &numbers) == 0
            let most = isLong ? Limits.startingLong : Limits.starting
            return Self.absence(
                from: now, Int.random(in: 0...most, using: &numbers), .coordinatorNotAvailable)
        }
        groups = start()
        transactions = start()
        nodesAway = (0..<Self.nodes).map { _ in Spell(after: now, Limits.nodeAway, &numbers) }
        shrunk = Spell(after: now, Limits.shrunk, &numbers)
        self.numbers = numbers
    }

    private static func absence(from start: Instant, _ milliseconds: Int, _ first: ErrorCode) -> Absence {
        Absence(
            start: start, end: start.advanced(byMilliseconds: milliseconds), first: first,
            loading: start.advanced(byMilliseconds: milliseconds / 2))
    }

    // MARK: Topics

    package mutating func created(_ topic: String, at now: Instant) {
        let known = now.advanced(byMilliseconds: draw(Limits.unknown))
        let led = known.advanced(byMilliseconds: draw(Limits.leaderless))
        dawns[topic] = Dawn(
            known: known, led: led, served: led.advanced(byMilliseconds: draw(Limits.unserved)))
    }

    package mutating func lingersMilliseconds() -> Int { draw(Limits.lingering) }

    package func sight(of topic: String, at now: Instant) -> TopicVisibility {
        guard let dawn = dawns[topic] else { return .whole }
        return now < dawn.known ? .unknown : now < dawn.led ? .leaderless : .whole
    }

    /// Whether its leaders answer, apart from wrong leaders.
    package func isServing(_ topic: String, at now: Instant) -> Bool {
        dawns[topic].map { now >= $0.served } ?? true
    }

    package mutating func refusal(
        byLeaderOf topic: String, _ partition: Int32, at now: Instant
    ) -> ErrorCode? {
        if !isServing(topic, at: now) {
            return sight(of: topic, at: now) == .unknown ? .unknownTopicOrPartition : .notLeaderOrFollower
        }
        if isAway(Place(topic: topic, partition: partition).node, at: now) { return .notLeaderOrFollower }
        return isOne(in: Self.strayLeaderOneIn) ? .notLeaderOrFollower : nil
    }

    private mutating func isAway(_ node: Int, at now: Instant) -> Bool {
        while now >= nodesAway[node].end {
            nodesAway[node] = Spell(after: nodesAway[node].end, Limits.nodeAway, &numbers)
        }
        return now >= nodesAway[node].start
    }

    /// The first partition that is written to in a spell is the one with too few replicas.
    package mutating func refusal(
        ofAppendTo topic: String, _ partition: Int32, at now: Instant
    ) -> ErrorCode? {
        while now >= shrunk.end {
            shrunk = Spell(after: shrunk.end, Limits.shrunk, &numbers)
            shrunkPlace = nil
        }
        guard now >= shrunk.start else { return nil }
        let place = Place(topic: topic, partition: partition)
        shrunkPlace = shrunkPlace ?? place
        return shrunkPlace == place ? .notEnoughReplicas : nil
    }

    // MARK: Coordinators

    package mutating func refusal(by call: CoordinatorCall, at now: Instant) -> ErrorCode? {
        switch call {
        case .findGroup: return absent(\.groups, isSought: true, at: now)
        case .findTransaction: return absent(\.transactions, isSought: true, at: now)
        case .join(_, let instanceID):
            if let error = absent(\.groups, isSought: false, at: now) { return error }
            return instanceID.flatMap { refusal(ofJoinBy: $0, at: now) }
        case .group: return absent(\.groups, isSought: false, at: now)
        case .transaction(let id):
            if let error = absent(\.transactions, isSought: false, at: now) { return error }
            if let end = endings[id], now < end { return .concurrentTransactions }
            endings[id] = nil
            return nil
        case .end(let id):
            if let error = absent(\.transactions, isSought: false, at: now) { return error }
            endings[id] = now.advanced(byMilliseconds: draw(Limits.ending))
            return nil
        }
    }

    /// A coordinator that dies while it holds the join of a static member leaves it to its successor. The member joins
    /// again, and is fenced by its own earlier join.
    private mutating func refusal(ofJoinBy instanceID: String, at now: Instant) -> ErrorCode? {
        if abandonedJoins.remove(instanceID) != nil { return .fencedInstanceID }
        guard isOne(in: Self.dyingCoordinatorOneIn) else { return nil }
        abandonedJoins.insert(instanceID)
        groups = Self.absence(from: now, draw(Limits.moving), .notCoordinator)
        return .notCoordinator
    }

    /// - Parameter isSought: Whether the request looks for the coordinator. It then gets "not available", and
    ///   otherwise "not coordinator".
    private mutating func absent(
        _ coordinator: WritableKeyPath<Self, Absence>, isSought: Bool, at now: Instant
    ) -> ErrorCode? {
        while now >= self[keyPath: coordinator].end {
            let fair = Int.random(in: Limits.fair, using: &numbers)
            let start = self[keyPath: coordinator].end.advanced(byMilliseconds: fair)
            self[keyPath: coordinator] = Self.absence(from: start, draw(Limits.moving), .notCoordinator)
        }
        let absence = self[keyPath: coordinator]
        guard now >= absence.start else { return nil }
        // When the new node is known, it loads. It can be found, and it answers that it loads.
        if now >= absence.loading { return isSought ? nil : .coordinatorLoadInProgress }
        if isSought { return .coordinatorNotAvailable }
        return absence.first
    }

    // MARK: Answers

    /// Returns the delay of an answer, or nil for most answers.
    package mutating func delayMilliseconds() -> Int? {
        guard isOne(in: Self.slowAnswerOneIn) else { return nil }
        return isOne(in: 20)
            ? Int.random(in: 100...400, using: &numbers) : Int.random(in: 1...60, using: &numbers)
    }

    private mutating func draw(_ most: Int) -> Int { Int.random(in: 0...most, using: &numbers) }
    private mutating func isOne(in count: Int) -> Bool { Int.random(in: 0..<count, using: &numbers) == 0 }
}
