internal import StageSupport
internal import Topics

/// The topics that the expander reads as a group member, in the order of its subscription.
enum ExpanderInputTopic: CaseIterable {
    /// Expansions for one recipient.
    case urgent
    case normal

    static let subscription = TopicSubscription(topics: allCases.map(\.name))

    var name: TopicName { self == .urgent ? .expansionsUrgent : .expansions }

    /// - Parameter index: the topic's index in the subscription.
    init(index: Int) { self = index == 0 ? .urgent : .normal }

    var index: Int { self == .urgent ? 0 : 1 }
}
