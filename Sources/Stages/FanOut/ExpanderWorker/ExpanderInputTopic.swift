internal import StageSupport
internal import Topics

/// The topics that the expander reads as a group member, in the order of its subscription.
enum ExpanderInputTopic: Int, CaseIterable {
    /// The planner's records, in the order of each group. A lane begins them at once.
    case arrivals
    /// The rests of walks.
    case walks

    static let subscription = TopicSubscription(topics: allCases.map(\.name))

    var name: TopicName { self == .arrivals ? .expansionsUrgent : .expansions }
}
