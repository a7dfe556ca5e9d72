package import Identifiers

/// A query for push tokens of one lane: the tokens that fan-out needs for an expansion of a send. `Eligibility`
/// decides which of the selected rows are served.
package struct TokenSelection: Sendable {
    package enum Tokens: Sendable, Hashable {
        /// The tokens that can start an activity of the type: tokens of this type and tokens for every type.
        /// If an installation has both, the token of this type is used.
        case starts(type: String)
        /// The update tokens of a group's activities. Nil means the activities without a known group.
        case updates(group: String?)
        /// The update tokens of a group's activities, and of activities without a known group. Only the caller knows
        /// which of the latter belong to the group.
        case possibleMembers(group: String)
        /// The update tokens of these activities, at most `Audience.namesMax`. Pages follow the order of this
        /// list.
        case activities([String])
    }

    package var app: String
    package var tokens: Tokens
    /// If set, only these recipients.
    package var recipients: NamedRecipients?
    /// If set, only recipients whose profiles match. It is used for tags and segments.
    package var program: SegmentProgram?
    package var environments: [Environment]
    /// The minimum system. Phones with a known older system are left out.
    package var osMin: OSVersion?
    /// For a start into a group: recipients that swiped away an activity of the group since then are left
    /// out.
    package var dismissals: Dismissals?
    /// For a start: the time of its acceptance, in milliseconds since 1970. Installations that moved to
    /// another recipient later are still served in this lane. Nil leaves them out.
    package var startAcceptedAt: Int64?
    /// Milliseconds since 1970. Rows that expired before are not served.
    package var now: Int64

    package struct Dismissals: Sendable, Hashable {
        package var group: String
        /// The beginning of the group's generation, inclusive, in milliseconds since 1970.
        package var since: Int64

        package init(of group: String, since: Int64) {
            self.group = group
            self.since = since
        }
    }

    package init(app: String, tokens: Tokens, environments: [Environment], now: Int64) {
        self.app = app
        self.tokens = tokens
        self.environments = environments
        self.now = now
        if case .starts = tokens { osMin = .pushToStart }
    }
}
