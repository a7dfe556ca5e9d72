internal import CatalogRecords
internal import Topics

/// A topic from which events are made.
enum WebhookSource: Int, Sendable, CaseIterable {
    case events
    case reports
    case progress
    case members
    case deadLetters

    var topic: TopicName {
        switch self {
        case .events: .events
        case .reports: .reports
        case .progress: .progress
        case .members: .members
        case .deadLetters: .deadLetters
        }
    }

    /// The types of the events that come from this topic.
    var types: Set<WebhookEventType> {
        switch self {
        case .events: [.tokenReported, .activityEnded, .activityDismissed, .activityTapped]
        case .reports: [.tokenDead]
        case .progress: [.sendCompleted, .sendFailed]
        case .members: [.breakerOpened, .breakerClosed]
        case .deadLetters: [.deadLettersAdded]
        }
    }

    /// Whether the keys of the records begin with their app. The key of a record of `progress` is the id of its send.
    /// The key of a record of `members` names a process.
    var hasAppInKeys: Bool {
        switch self {
        case .events, .reports, .deadLetters: true
        case .progress, .members: false
        }
    }

    /// Whether the records before an event decide whether there is an event. Such a topic is read from its beginning.
    var isReadFromBeginning: Bool { self == .members }

    /// Returns the topics that an endpoint with these types reads. It reads no other topic.
    static func sources(of types: [WebhookEventType]) -> [WebhookSource] {
        allCases.filter { !$0.types.isDisjoint(with: types) }
    }
}
