internal import StageSupport
internal import Topics

/// The topics that the scheduler reads, in the order of its subscription.
enum SchedulerInputTopic: Int, CaseIterable {
    case schedules
    case automaticEnds

    static let subscription = TopicSubscription(topics: allCases.map(\.name))

    var name: TopicName {
        switch self {
        case .schedules: .schedules
        case .automaticEnds: .schedulesAuto
        }
    }

    /// The topic's index in the subscription.
    var index: Int { rawValue }

    init(index: Int) { self = Self.allCases[index] }
}
