package import Broker
package import Lifecycle

/// What a cluster is like that is slow to know what was decided: the moments that Apache Kafka was seen to
/// have, each as long as there or a little longer, drawn from a seed. It decides and does nothing; what it
/// is asked, and when, are its only input.
package struct Weather: Sendable {
    /// The bounds of what is drawn, in milliseconds.
    package enum Limits {
        /// From CreateTopics' answer until the metadata knows the topic.
        package static let unknown = 100
        /// From then until the metadata names leaders.
        package static let leaderless = 150
        /// From then until the leaders serve.
        package static let unserved = 600
        /// A topic that was deleted lives on.
        package static let lingering = 150
        /// Coordinators that have just started; now and then much longer, as when their topics are made.
        package static let starting = 800
        package static let startingLong = 3000
        /// A coordinator that moves, and the fair weather before it does.
        package static let moving = 400
        package static let fair = 5_000...40_000
        /// A transaction that ends: its id's next one has to wait.
        package static let ending = 30
    }

    /// One partition request in so many meets a leader that is none, and one answer in so many is slow.
    private static let strayLeaderOneIn = 400
    private static let slowAnswerOneIn = 60

    /// When a new topic gets further.
    private struct Dawn {
        var known: Instant
        var led: Instant
        var served: Instant
    }

    /// A coordinator's next time of absence.
    private struct Absence {
        var start: Instant
        var end: Instant
        /// What it says until it loads.
        var first: ErrorCode
        var loading: Instant
    }

    private var numbers: SplitMix64
    private var dawns: [String: Dawn] = [:]
    private var groups: Absence
    private var transactions: Absence
    private var endings: [String: Instant] = [:]

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

    package func sight(of topic: String, at now: Instant) -> TopicSight {
        guard let dawn = dawns[topic] else { return .whole }
        return now < dawn.known ? .unknown : now < dawn.led ? .leaderless : .whole
    }

    /// Whether its leaders answer, but for those that stray.
    package func isServing(_ topic: String, at now: Instant) -> Bool {
        dawns[topic].map { now >= $0.served } ?? true
    }

    package mutating func refusal(byLeaderOf topic: String, at now: Instant) -> ErrorCode? {
        if !isServing(topic, at: now) {
            return sight(of: topic, at: now) == .unknown ? .unknownTopicOrPartition : .notLeaderOrFollower
        }
        return isOne(in: Self.strayLeaderOneIn) ? .notLeaderOrFollower : nil
    }

    // MARK: Coordinators

    package mutating func refusal(by call: CoordinatorCall, at now: Instant) -> ErrorCode? {
        switch call {
        case .findGroup: return absent(\.groups, isSought: true, at: now)
        case .findTransaction: return absent(\.transactions, isSought: true, at: now)
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

    /// - Parameter isSought: one that is looked for is not there yet; one that is asked is not the one.
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
        // Once the node is known that will be it, it loads: it is found, and answers that.
        if now >= absence.loading { return isSought ? nil : .coordinatorLoadInProgress }
        if isSought { return .coordinatorNotAvailable }
        return absence.first
    }

    // MARK: Answers

    /// How much later an answer leaves; nil for most.
    package mutating func delayMilliseconds() -> Int? {
        guard isOne(in: Self.slowAnswerOneIn) else { return nil }
        return isOne(in: 20)
            ? Int.random(in: 100...400, using: &numbers) : Int.random(in: 1...60, using: &numbers)
    }

    private mutating func draw(_ most: Int) -> Int { Int.random(in: 0...most, using: &numbers) }
    private mutating func isOne(in count: Int) -> Bool { Int.random(in: 0..<count, using: &numbers) == 0 }
}
