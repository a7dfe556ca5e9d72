internal import Topics

/// What the stage reads, in the order of its subscription: a record's topic is an index into it.
enum InsightTopic: Int, CaseIterable {
    case receipts
    case events

    var name: TopicName {
        switch self {
        case .receipts: .receipts
        case .events: .events
        }
    }
}
