internal import LiveActivity

/// An installation while a report is merged into it, with the result so far and whether it must be written.
struct Hearing {
    var installation: Installation
    let time: ReportTime
    var events: [Event] = []
    var touched = Touched()
    private(set) var isChanged = false
    private(set) var isRepeated = false
    private(set) var isGrainCrossed = false
    /// Whether the rows moved to another recipient.
    var hasMoved = false

    init(_ installation: Installation, at time: ReportTime) {
        self.installation = installation
        self.time = time
    }

    /// Whether the report added nothing, not even a later time.
    var isSilent: Bool { !isChanged && !isRepeated }

    mutating func noteChange() { isChanged = true }

    /// Requires a write, even if this interval already has one.
    mutating func noteGrain() { isGrainCrossed = true }

    /// Records the effect of a value.
    ///
    /// - Returns: Whether the value changed.
    @discardableResult
    mutating func note(_ heard: Heard) -> Bool {
        switch heard {
        case .nothing: return false
        case .repeated: isRepeated = true
        case .changed: isChanged = true
        }
        return heard == .changed
    }

    /// Records the effect of a value that all rows contain.
    mutating func noteFact(_ heard: Heard) {
        if note(heard) { touched.touchEverything() }
    }

    /// Records the effect of a sign of life.
    ///
    /// - Returns: Whether it is the first one in its write interval.
    @discardableResult
    mutating func note(_ heard: Heard, since old: ReportTime?, grain: Int64) -> Bool {
        note(heard)
        guard heard == .repeated, Grain.isCrossed(grain, from: old?.received, to: time.received) else {
            return false
        }
        isGrainCrossed = true
        return true
    }

    mutating func tell(
        _ code: Event.Code, attributesType: String? = nil, activity: String? = nil, group: String? = nil,
        tokenHash: String? = nil, cause: Event.Cause? = nil, scheduleID: String? = nil,
        scheduleName: String? = nil
    ) {
        var id: String?
        if case .installation(let own) = installation.subject { id = own }
        var user: String?
        if case .user(let own) = installation.recipient { user = own }
        events.append(
            Event(
                code, app: installation.app, environment: installation.environment?.value, installation: id,
                user: user, attributesType: attributesType, activity: activity, group: group,
                tokenHash: tokenHash, cause: cause, scheduleID: scheduleID, scheduleName: scheduleName,
                eventTime: time.event, receivedAt: time.received))
    }
}
