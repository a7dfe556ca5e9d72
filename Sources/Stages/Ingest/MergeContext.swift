internal import Identifiers
internal import InstallationRecords

/// An installation while one report is merged into it, with the result so far.
struct MergeContext {
    var installation: Installation
    /// The time of the report.
    let time: ReportTime
    var events: [Event] = []
    var claim: TokenClaim?
    var affectedRows = AffectedRows()
    /// Whether a value other than a time has changed.
    private(set) var isChanged = false
    /// Whether the report repeats a value at a later time, so that its time has changed.
    private(set) var isRepeated = false
    /// Whether the installation is due for a write even if only times have changed.
    private var isRewriteDue = false
    /// Whether the installation moved to another recipient, by login or logout.
    var hasMoved = false

    init(installation: Installation, at time: ReportTime) {
        self.installation = installation
        self.time = time
    }

    /// Whether the report added nothing, not even a later time.
    var hasNoEffect: Bool { !isChanged && !isRepeated }

    var mustBeWritten: Bool { isChanged || isRewriteDue }

    mutating func markChanged() { isChanged = true }

    /// Requires a write, even if this interval already has one.
    mutating func requireWrite() { isRewriteDue = true }

    /// Notes the effect on a value. Returns whether the value changed.
    @discardableResult
    mutating func noteEffect(_ effect: MergeEffect) -> Bool {
        switch effect {
        case .ignored: return false
        case .repeated: isRepeated = true
        case .changed: isChanged = true
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
    ///   - old: the time of the value before.
    ///   - interval: the write interval of the value, in milliseconds.
    @discardableResult
    mutating func noteEffect(_ effect: MergeEffect, since old: ReportTime?, interval: Int64) -> Bool {
        noteEffect(effect)
        guard effect == .repeated,
            WriteInterval.isBoundaryCrossed(every: interval, from: old?.received, to: time.received)
        else {
            return false
        }
        isRewriteDue = true
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
