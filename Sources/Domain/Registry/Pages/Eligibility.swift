internal import Identifiers

/// The rules that decide whether a row of `starts` or `updates` is served to a selection now. They need only
/// the row's value. `PageWalk` then applies the rules that need other rows: segments and dismissals.
struct Eligibility {
    private let allowsProduction: Bool
    private let allowsSandbox: Bool
    private let osMin: OSVersion?
    /// For a start: the time of its acceptance.
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
        if flags & TokenValue.Flag.switchedOff != 0 {
            // Only the row of an activity that the person swiped away has no token.
            return TokenValue.hasToken(value) ? .activitiesOff : .dismissed
        }
        if flags & TokenValue.Flag.shadowed != 0 { return .shadowed }
        let isSandbox = flags & TokenValue.Flag.sandbox != 0
        guard isSandbox ? allowsSandbox : allowsProduction else { return .otherEnvironment }
        if let expiresAt = TokenValue.expiresAt(in: value), expiresAt <= now { return .expired }
        if let osMin, let os = OSVersion.read(value, at: TokenValue.FieldOffset.os), os < osMin {
            return .systemTooOld
        }
        return flags & TokenValue.Flag.movedAway == 0 ? nil : exclusionAfterMove(of: value)
    }

    /// Returns `movedAway`, or nil if the installation was with this recipient when the start was accepted.
    /// Each start is served in one lane, although the installation is in the lanes of all its recipients.
    private func exclusionAfterMove(of value: Span<UInt8>) -> ExclusionReason? {
        guard let startAcceptedAt, let movedAt = TokenValue.movedAt(in: value), startAcceptedAt < movedAt
        else { return .movedAway }
        // An installation that came to this recipient after the acceptance is served in its previous lane.
        if let arrivedAt = TokenValue.arrivedAt(in: value), startAcceptedAt < arrivedAt { return .movedAway }
        return nil
    }
}
