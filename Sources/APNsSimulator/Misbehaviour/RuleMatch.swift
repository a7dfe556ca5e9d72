internal import LiveActivity

/// Which requests, or which connections, a rule is about. What is nil or empty matches all. The
/// conditions are looked at in this order: those on the request itself, then its number among those
/// that met them (`nth`, `every`), then the share, then how often the rule may still act.
struct RuleMatch: Sendable, Hashable {
    /// About connections at the moment they are accepted, and about no request.
    var isAtConnect = false
    var kinds: Set<RequestFacts.Kind> = []
    var bundleID: String?
    var environment: Environment?
    var events: Set<PushEvent> = []
    var tokens = TokenSet()
    var channel: String?
    /// The connection's number, from 1 since the simulator began.
    var connection: Int?
    /// The request's number on its connection, from 1.
    var requestOfConnection: Int?
    /// Milliseconds since the script was given; the end is not included.
    var fromMilliseconds: Int?
    var untilMilliseconds: Int?

    /// Only this one among those that met the above, from 1.
    var nth: Int?
    /// Only each so-and-so-many-th among them.
    var every: Int?
    /// Only this share, chosen at random.
    var share: Double?
    /// At most so often.
    var times: Int?

    /// Whether it has a condition that only a request can meet.
    var asksForRequest: Bool {
        !kinds.isEmpty || bundleID != nil || environment != nil || !events.isEmpty || !tokens.isEmpty
            || channel != nil || requestOfConnection != nil
    }

    func meets(_ facts: RequestFacts, milliseconds: Int) -> Bool {
        guard !isAtConnect, meets(facts.connection, milliseconds) else { return false }
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

    func meets(openedConnection number: Int, milliseconds: Int) -> Bool {
        isAtConnect && meets(number, milliseconds)
    }

    private func meets(_ number: Int, _ milliseconds: Int) -> Bool {
        if let connection, connection != number { return false }
        if let fromMilliseconds, milliseconds < fromMilliseconds { return false }
        return untilMilliseconds.map { milliseconds < $0 } ?? true
    }
}
