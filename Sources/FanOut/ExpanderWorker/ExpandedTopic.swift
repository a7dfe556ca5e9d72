internal import Topics

/// What the expander reads as a member of its group.
enum ExpandedTopic: CaseIterable {
    /// Of one recipient.
    case urgent
    case usual

    var name: TopicName { self == .urgent ? .expansionsUrgent : .expansions }

    /// - Parameter number: the topic's index in the subscription.
    init(number: Int) { self = number == 0 ? .urgent : .usual }
}
