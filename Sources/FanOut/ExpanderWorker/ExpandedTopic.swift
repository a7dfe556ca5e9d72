internal import Topics

/// What the expander reads as a member of its group, in the order of its subscription.
enum ExpandedTopic: CaseIterable {
    /// Of one recipient.
    case urgent
    case usual

    var name: TopicName { self == .urgent ? .expansionsUrgent : .expansions }

    /// - Parameter number: the topic's index in the subscription.
    init(number: Int) { self = number == 0 ? .urgent : .usual }

    var number: Int { self == .urgent ? 0 : 1 }
}
