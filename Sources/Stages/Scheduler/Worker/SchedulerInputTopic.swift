internal import StageSupport
internal import Topics

/// The topics that the scheduler reads, in the order of its subscription.
enum SchedulerInputTopic: CaseIterable {
    case schedules
    case automaticEnds

    static let subscription = TopicSubscription(topics: allCases.map(\.name))

    var name: TopicName { self == .schedules ? .schedules : .schedulesAuto }

    /// - Parameter index: the topic's index in the subscription.
    init(index: Int) { self = index == 0 ? .schedules : .automaticEnds }

    var index: Int { self == .schedules ? 0 : 1 }
}
