/// The subject of a request that is no report, as a metric label.
enum RequestKind: String, Sendable, CaseIterable {
    case send
    case cancel
    case schedule
    case user
    case catalog
    case session
}
