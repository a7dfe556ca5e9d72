internal import LiveActivity
internal import Topics

/// What the stage reads, in the order of its subscription: a record's topic is an index into it. All have as many
/// partitions as there are lanes, and the same members, so that all parts of a lane come to the same one.
enum InsightTopic: Int, CaseIterable, Sendable {
    case receipts
    case events
    case progress
    case groups
    case installations
    case timers
    case audit

    var name: TopicName {
        switch self {
        case .receipts: .receipts
        case .events: .events
        case .progress: .progress
        case .groups: .groups
        case .installations: .installations
        case .timers: .timers
        case .audit: .audit
        }
    }

    /// How long an older file may rest before its topic has let go of what it wants next.
    var ageMaxMilliseconds: Int64 {
        switch self {
        case .receipts, .progress: 7 * 86_400_000
        case .events: 30 * 86_400_000
        case .groups, .installations, .timers: TopicLayout.deleteRetentionMilliseconds - 3_600_000
        case .audit: 400 * 86_400_000
        }
    }
}
