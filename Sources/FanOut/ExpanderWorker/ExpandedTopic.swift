internal import Topics

/// What the expander reads as a member of its group, in the order of its subscription.
enum ExpandedTopic: CaseIterable {
    /// Of one recipient.
    case urgent
    case usual

    var name: TopicName { self == .urgent ? .expansionsUrgent : .expansions }

    /// - Parameter index: the topic's index in the subscription.
    init(index: Int) { self = index == 0 ? .urgent : .usual }

    var index: Int { self == .urgent ? 0 : 1 }
}
