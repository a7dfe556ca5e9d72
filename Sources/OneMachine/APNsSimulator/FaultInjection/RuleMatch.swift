internal import Identifiers
internal import Payloads

/// The conditions of a rule: the requests or new connections that it applies to. A nil or empty field matches
/// all. `matches` checks the conditions on the request or connection itself. For those that match,
/// `RunningRule` checks the selection in this order: `nth`, `every`, `share`, `times`.
struct RuleMatch: Sendable, Hashable {
    /// Whether the rule applies to new connections when they are accepted, and to no request.
    var isAtConnect = false

    // Conditions. With `isAtConnect` only those on the connection and on the time are allowed.
    var kinds: Set<RequestFacts.RequestKind> = []
    var bundleID: String?
    var environment: Environment?
    var events: Set<PushEvent> = []
    var tokens = TokenSet()
    /// Id of the channel.
    var channel: String?
    /// Number of the connection, counted from 1 since the simulator started.
    var connection: Int?
    /// Number of the request on its connection, counted from 1.
    var requestOfConnection: Int?
    /// Start and end of the time in which the rule applies, in milliseconds since the script was set. The end
    /// is exclusive.
    var fromMilliseconds: Int?
    var untilMilliseconds: Int?

    // Selection among the matching requests or connections.
    /// The rule applies only to the match with this number, counted from 1.
    var nth: Int?
    /// The rule applies only to every n-th match.
    var every: Int?
    /// The rule applies only to this share of the matches, from 0 to 1, chosen at random.
    var share: Double?
    /// The rule applies at most this many times.
    var times: Int?

    /// Whether it has a condition that only a request can meet.
    var hasRequestConditions: Bool {
        !kinds.isEmpty || bundleID != nil || environment != nil || !events.isEmpty || !tokens.isEmpty
            || channel != nil || requestOfConnection != nil
    }

    /// Whether a request meets all conditions.
    /// - Parameter milliseconds: time since the script was set.
    func matches(_ facts: RequestFacts, milliseconds: Int) -> Bool {
        guard !isAtConnect, matchesConnection(number: facts.connection, milliseconds: milliseconds) else {
            return false
        }
        if !kinds.isEmpty, !kinds.contains(facts.kind) { return false }
        if let bundleID, bundleID != facts.bundleID { return false }
        if let environment, environment != facts.environment { return false }
        if let requestOfConnection, requestOfConnection != facts.requestOfConnection { return false }
        if !events.isEmpty {
            guard let event = facts.event, events.contains(event) else { return false }
        }
        if let channel, facts.target != .channel(channel) { return false }
        if tokens.isEmpty { return true }
        guard case .token(let token) = facts.target else { return false }
        return tokens.contains(token)
    }

    /// Whether the rule applies to a new connection.
    func matches(openedConnection number: Int, milliseconds: Int) -> Bool {
        isAtConnect && matchesConnection(number: number, milliseconds: milliseconds)
    }

    private func matchesConnection(number: Int, milliseconds: Int) -> Bool {
        if let connection, connection != number { return false }
        if let fromMilliseconds, milliseconds < fromMilliseconds { return false }
        return untilMilliseconds.map { milliseconds < $0 } ?? true
    }
}
