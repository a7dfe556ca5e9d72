package import Topics

/// The topics from which a sender takes jobs. A lane is one partition of each.
package enum JobTopic: Int, Sendable, CaseIterable {
    case urgent
    case usual
    case later5s
    case later2m

    package var topic: TopicName {
        switch self {
        case .urgent: .jobsUrgent
        case .usual: .jobs
        case .later5s: .jobsLater5s
        case .later2m: .jobsLater2m
        }
    }

    /// The tier in which its jobs wait for another attempt.
    var tier: LaterTier? {
        switch self {
        case .urgent, .usual: nil
        case .later5s: .seconds5
        case .later2m: .minutes2
        }
    }

    /// The topic's name in a job's place.
    package var word: String { topic.rawValue }
}

/// The tiers in which jobs wait for longer than a sender holds them itself.
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
    var jobs: JobTopic {
        switch self {
        case .seconds5: .later5s
        case .minutes2: .later2m
        }
    }

    /// Returns the longest tier, up to this one, whose wait ends before a deadline; nil if no tier fits.
    ///
    /// - Parameter deadline: seconds since 1970.
    func longest(before deadline: Int64, at time: CurrentTime) -> LaterTier? {
        let tiers: [LaterTier] = self == .minutes2 ? [.minutes2, .seconds5] : [.seconds5]
        return tiers.first { !time.isPast(deadline: deadline - Int64($0.waitMilliseconds / 1000)) }
    }

    package var waitMilliseconds: Int {
        switch self {
        case .seconds5: 5_000
        case .minutes2: 120_000
        }
    }
}
