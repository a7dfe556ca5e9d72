internal import LiveActivity

/// The requests or connections that a rule applies to. A nil or empty field matches all. The conditions are
/// checked in this order: those on the request itself, then its number among the matching requests (`nth`,
/// `every`), then the share, then the limit on repeats.
struct RuleMatch: Sendable, Hashable {
    /// Whether the rule applies to new connections when they are accepted, and to no request.
    var isAtConnect = false
    var kinds: Set<RequestFacts.RequestKind> = []
    var bundleID: String?
    var environment: Environment?
    var events: Set<PushEvent> = []
    var tokens = TokenSet()
    var channel: String?
    /// Number of the connection, counted from 1 since the simulator started.
    var connection: Int?
    /// Number of the request on its connection, counted from 1.
    var requestOfConnection: Int?
    /// Start and end in milliseconds since the script was set. The end is exclusive.
    var fromMilliseconds: Int?
    var untilMilliseconds: Int?

    /// Applies only to this one of the matching requests, counted from 1.
    var nth: Int?
    /// Applies only to every n-th matching request.
    var every: Int?
    /// Applies only to this share, chosen at random.
    var share: Double?
    /// Applies at most this often.
    var times: Int?

    /// Whether it has a condition that only a request can meet.
    var hasRequestConditions: Bool {
        !kinds.isEmpty || bundleID != nil || environment != nil || !events.isEmpty || !tokens.isEmpty
            || channel != nil || requestOfConnection != nil
    }

    func matches(_ facts: RequestFacts, milliseconds: Int) -> Bool {
        guard !isAtConnect, matchesConnection(number: facts.connection, milliseconds: milliseconds) else {
            return false
        }
        if !kinds.isEmpty, !kinds.contains(facts.kind) { return false }
        if let bundleID, bundleID != facts.bundleID { return false }
        if let environment, environment != facts.environment { return false }
        if let requestOfConnection, requestOfConnection != facts.requestOfConnection { return false }
        if !events.isEmpty, facts.event.map({ !events.contains($0) }) ?? true { return false }
        if let channel, facts.target != .channel(channel) { return false }
        if tokens.isEmpty { return true }
        guard case .token(let token) = facts.target else { return false }
        return tokens.contains(token)
    }

    func matches(openedConnection number: Int, milliseconds: Int) -> Bool {
        isAtConnect && matchesConnection(number: number, milliseconds: milliseconds)
    }

    private func matchesConnection(number: Int, milliseconds: Int) -> Bool {
        if let connection, connection != number { return false }
        if let fromMilliseconds, milliseconds < fromMilliseconds { return false }
        return untilMilliseconds.map { milliseconds < $0 } ?? true
    }
}
