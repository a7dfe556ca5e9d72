internal import StageSupport
internal import Topics

/// The topics of the stage, in the order of its subscription. So the topic number of a consumed record is the
/// raw value. All topics have one partition for each lane, and the same members of the group get them.
enum InsightTopic: Int, CaseIterable, Sendable {
    case receipts
    case events
    case progress
    case groups
    case installations
    case timers
    case audit
    case auditSends

    static let subscription = TopicSubscription(topics: allCases.map(\.name), number: 1)

    var name: TopicName {
        switch self {
        case .receipts: .receipts
        case .events: .events
        case .progress: .progress
        case .groups: .groups
        case .installations: .installations
        case .timers: .timers
        case .audit: .audit
        case .auditSends: .auditSends
        }
    }

    /// The age at which an unused file is discarded, because its topic may have deleted the next record that
    /// the file needs.
    var ageMaxMilliseconds: Int64 {
        switch self {
        case .receipts, .progress: 7 * 86_400_000
        case .events, .auditSends: 30 * 86_400_000
        // Kafka deletes tombstones after this time. An hour is the margin.
        case .groups, .installations, .timers: TopicLayout.deleteRetentionMilliseconds - 3_600_000
        case .audit: 400 * 86_400_000
        }
    }
}
