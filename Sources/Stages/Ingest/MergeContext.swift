internal import Identifiers
internal import InstallationRecords

/// An installation while one report is merged into it, with the result so far.
struct MergeContext {
    /// The effect of the report on the installation. Each stronger effect includes the weaker ones.
    enum Effect: Int, Comparable {
        /// The report added nothing, not even a later time.
        case none
        /// The report repeats values at a later time. In this write interval their times are written already.
        case repeated
        /// The report repeats values at a later time, and their times are due for a write.
        case repeatedAndDue
        /// A value other than a time has changed.
        case changed

        static func < (a: Effect, b: Effect) -> Bool { a.rawValue < b.rawValue }
    }

    var installation: Installation
    /// The time of the report.
    let time: ReportTime
    private(set) var effect = Effect.none
    var events: [Event] = []
    var claim: TokenClaim?
    var affectedRows = AffectedRows()
    /// Whether the installation moved to another recipient, by login or logout.
    var hasMoved = false

    init(installation: Installation, at time: ReportTime) {
        self.installation = installation
        self.time = time
    }

    private mutating func raiseEffect(to new: Effect) { effect = max(effect, new) }

    mutating func markChanged() { raiseEffect(to: .changed) }

    /// Requires a write of repeated values, even if this interval already has one.
    mutating func markDue() { if effect == .repeated { raiseEffect(to: .repeatedAndDue) } }

    /// Notes the effect on a value. Returns whether the value changed.
    @discardableResult
    mutating func noteEffect(_ effect: MergeEffect) -> Bool {
        switch effect {
        case .ignored: return false
        case .repeated: raiseEffect(to: .repeated)
        case .changed: raiseEffect(to: .changed)
        }
        return effect == .changed
    }

    /// Notes the effect on a value that all rows contain.
    mutating func noteEffectOnAllRows(_ effect: MergeEffect) {
        if noteEffect(effect) { affectedRows.insertAll() }
    }

    /// Notes the effect on a value that phones repeat regularly. Returns whether this is the first repetition in its
    /// write interval, so that the installation is due for a write.
    ///
    /// - Parameters:
    ///   - previousTime: the time that the value had before this report.
    ///   - writeInterval: the write interval of the value, in milliseconds.
    @discardableResult
    mutating func noteEffect(_ effect: MergeEffect, previousTime: ReportTime?, writeInterval: Int64) -> Bool {
        noteEffect(effect)
        guard effect == .repeated,
            WriteInterval.isBoundaryCrossed(
                every: writeInterval, from: previousTime?.received, to: time.received)
        else {
            return false
        }
        raiseEffect(to: .repeatedAndDue)
        return true
    }

    mutating func appendEvent(
        _ code: Event.Code, attributesType: String? = nil, activity: String? = nil, group: String? = nil,
        tokenHash: String? = nil, cause: Event.Cause? = nil, sendID: String? = nil, scheduleID: String? = nil,
        scheduleName: String? = nil
    ) {
        var id: String?
        if case .installation(let installationID) = installation.subject { id = installationID }
        var user: String?
        if case .user(let userID) = installation.recipient { user = userID }
        events.append(
            Event(
                code, app: installation.app, environment: installation.environment?.value, installation: id,
                user: user, attributesType: attributesType, activity: activity, group: group,
                tokenHash: tokenHash, cause: cause, sendID: sendID, scheduleID: scheduleID,
                scheduleName: scheduleName,
                eventTime: time.event, receivedAt: time.received))
    }
}
