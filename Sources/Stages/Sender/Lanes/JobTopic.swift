internal import StageSupport
package import Topics

/// A topic from which a sender takes jobs. A lane is one partition of each of them.
package enum JobTopic: Int, Sendable, CaseIterable {
    case urgent
    case normal
    case later5s
    case later2m

    static let subscription = TopicSubscription(topics: allCases.map(\.topic))

    package var topic: TopicName {
        switch self {
        case .urgent: .jobsUrgent
        case .normal: .jobs
        case .later5s: .jobsLater5s
        case .later2m: .jobsLater2m
        }
    }

    /// The tier in which its jobs wait for another attempt.
    var tier: LaterTier? {
        switch self {
        case .urgent, .normal: nil
        case .later5s: .seconds5
        case .later2m: .minutes2
        }
    }

    /// The topic's name in the position of a job (`JobPosition`).
    package var word: String { topic.rawValue }
}

/// A tier: a topic in which jobs wait 5 s or 2 min for another try. For shorter waits the sheet stays in hand.
package enum LaterTier: Sendable, Hashable, CaseIterable {
    case seconds5
    case minutes2

    package var topic: TopicName {
        switch self {
        case .seconds5: .jobsLater5s
        case .minutes2: .jobsLater2m
        }
    }

    /// The tier as a topic that jobs are taken from.
    var jobTopic: JobTopic {
        switch self {
        case .seconds5: .later5s
        case .minutes2: .later2m
        }
    }

    /// Returns the longest tier, up to this one, whose wait ends before a deadline; nil if no tier fits.
    ///
    /// - Parameter deadline: seconds since 1970.
    func shortenedToEnd(before deadline: Int64, at time: CurrentTime) -> LaterTier? {
        let tiers: [LaterTier] = self == .minutes2 ? [.minutes2, .seconds5] : [.seconds5]
        return tiers.first { tier in
            let waitSeconds = Int64(tier.waitMilliseconds / 1000)
            return !time.isPast(deadline: deadline - waitSeconds)
        }
    }

    package var waitMilliseconds: Int {
        switch self {
        case .seconds5: 5_000
        case .minutes2: 120_000
        }
    }
}
