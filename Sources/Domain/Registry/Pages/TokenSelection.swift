package import LiveActivity

/// The tokens that an expansion needs from a lane. The lane decides whether a row can be served.
package struct TokenSelection: Sendable {
    package enum Tokens: Sendable, Hashable {
        /// The tokens that can start an activity of the type: tokens of this type and tokens for all types.
        /// If an installation has both, the token of this type is used.
        case starts(type: String)
        /// All members of a group. Nil means the activities without a known group.
        case updates(group: String?)
        /// These activities, at most `Audience.namesMax`. Pages follow the order of this list.
        case activities([String])
    }

    package var app: String
    package var tokens: Tokens
    /// If set, only these recipients.
    package var recipients: NamedRecipients?
    /// If set, only the people that it selects. It is used for tags and segments.
    package var program: SegmentProgram?
    package var environments: [Environment]
    /// The minimum system. Phones with a known older system are left out.
    package var osMin: OSVersion?
    /// For a start into a group: recipients that swiped away an activity of the group since then are left
    /// out.
    package var dismissals: Dismissals?
    /// For a start: the time of its acceptance. Installations that left this lane later are still served
    /// here. Nil leaves them out.
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

/// The rules for the rows of a selection that are served now.
struct Eligibility {
    private let allowsProduction: Bool
    private let allowsSandbox: Bool
    private let osMin: OSVersion?
    private let startAcceptedAt: Int64?
    private let now: Int64

    init(_ selection: TokenSelection) {
        allowsProduction = selection.environments.contains(.production)
        allowsSandbox = selection.environments.contains(.sandbox)
        osMin = selection.osMin
        now = selection.now
        startAcceptedAt = if case .starts = selection.tokens { selection.startAcceptedAt } else { nil }
    }

    /// Returns the reason to leave out a row, or nil if it is served.
    func exclusion(of value: Span<UInt8>) -> ExclusionReason? {
        let flags = value[0]
        if flags & (TokenValue.Flag.shadowed | TokenValue.Flag.switchedOff) != 0 {
            guard flags & TokenValue.Flag.switchedOff != 0 else { return .shadowed }
            return TokenValue.hasToken(value) ? .activitiesOff : .dismissed
        }
        guard flags & TokenValue.Flag.sandbox == 0 ? allowsProduction : allowsSandbox else {
            return .otherEnvironment
        }
        if let expiresAt = TokenValue.expiresAt(in: value), expiresAt <= now { return .expired }
        if let osMin, let os = OSVersion.read(value, at: TokenValue.FieldOffset.os), os < osMin {
            return .systemTooOld
        }
        if flags & TokenValue.Flag.movedAway == 0 { return nil }
        guard let startAcceptedAt, let movedAt = TokenValue.movedAt(in: value), startAcceptedAt < movedAt
        else {
            return .movedAway
        }
        // An installation that came here after the acceptance is served in its previous lane.
        if let movedInAt = TokenValue.arrivedAt(in: value), startAcceptedAt < movedInAt { return .movedAway }
        return nil
    }
}
