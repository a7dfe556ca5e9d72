/// The subject of a request, as a metric label.
enum RequestKind: String, Sendable, CaseIterable {
    case send
    case cancel
    case schedule
    case progress
    case user
    case catalog
    case session
}

enum RequestOutcome: String, Sendable, CaseIterable {
    case accepted
    case answered
    case underWay
    case refused
    case unstored
}
