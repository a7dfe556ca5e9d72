package import LiveActivity

/// Which tokens an expansion wants from a lane. It chooses; whether a row is live is the lane's business.
package struct Selection: Sendable {
    package enum Tokens: Sendable, Hashable {
        /// Where an activity of the type can be started: its own tokens and those that serve every type.
        /// An installation that has both is reached by its own.
        case starts(type: String)
        /// All members of a group; nil for activities whose group nobody has told.
        case updates(group: String?)
        /// These activities, at most `Audience.namesMax`. A page begins where the last one ended, in the order
        /// of this list.
        case activities([String])
    }

    package var app: String
    package var tokens: Tokens
    /// Only theirs.
    package var recipients: NamedRecipients?
    /// Only whom this chooses; for tags and segments.
    package var program: SegmentProgram?
    package var environments: [Environment]
    /// Phones that are known to be older are left out.
    package var osMin: OSVersion?
    /// Of a start into a group: whoever has swiped an activity of the group away since is left out.
    package var dismissals: Dismissals?
    /// Of a start: when it was accepted. Installations that have left this lane since are still served
    /// here; nil leaves them out.
    package var startAcceptedAt: Int64?
    /// Milliseconds since 1970; what has expired by then is not served.
    package var now: Int64

    package struct Dismissals: Sendable, Hashable {
        package var group: String
        /// Milliseconds since 1970, included: the beginning of the group's generation.
        package var since: Int64

        package init(of group: String, since: Int64) {
            self.group = group
            self.since = since
        }
    }

    package init(app: String, _ tokens: Tokens, environments: [Environment], now: Int64) {
        self.app = app
        self.tokens = tokens
        self.environments = environments
        self.now = now
        if case .starts = tokens { osMin = .pushToStart }
    }
}

/// Which rows of a selection are served now.
struct Eligibility {
    private let allowsProduction: Bool
    private let allowsSandbox: Bool
    private let osMin: OSVersion?
    private let startAcceptedAt: Int64?
    private let now: Int64

    init(_ selection: Selection) {
        allowsProduction = selection.environments.contains(.production)
        allowsSandbox = selection.environments.contains(.sandbox)
        osMin = selection.osMin
        now = selection.now
        startAcceptedAt = if case .starts = selection.tokens { selection.startAcceptedAt } else { nil }
    }

    /// Why a row is not served; nil for one that is.
    func exclusion(of value: Span<UInt8>) -> Exclusion? {
        let flags = value[0]
        if flags & (TokenValue.Flag.shadowed | TokenValue.Flag.off) != 0 {
            guard flags & TokenValue.Flag.off != 0 else { return .shadowed }
            return TokenValue.hasToken(value) ? .activitiesOff : .dismissed
        }
        guard flags & TokenValue.Flag.sandbox == 0 ? allowsProduction : allowsSandbox else {
            return .otherEnvironment
        }
        if let expiresAt = TokenValue.expiresAt(value), expiresAt <= now { return .expired }
        if let osMin, let os = OSVersion.read(value, at: TokenValue.Place.os), os < osMin {
            return .systemTooOld
        }
        if flags & TokenValue.Flag.movedAway == 0 { return nil }
        guard let startAcceptedAt, let movedAt = TokenValue.movedAt(value), startAcceptedAt < movedAt else {
            return .movedAway
        }
        // One that came here since then is served where it was.
        if let movedInAt = TokenValue.movedInAt(value), startAcceptedAt < movedInAt { return .movedAway }
        return nil
    }
}
