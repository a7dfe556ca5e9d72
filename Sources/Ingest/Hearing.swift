internal import LiveActivity

/// An installation while a report is heard: what has become of it, and whether that is worth writing.
struct Hearing {
    var installation: Installation
    let time: ReportTime
    var events: [Event] = []
    var touched = Touched()
    private(set) var isChanged = false
    private(set) var isRepeated = false
    private(set) var isGrainCrossed = false
    /// Another recipient than before has the rows.
    var hasMoved = false

    init(_ installation: Installation, at time: ReportTime) {
        self.installation = installation
        self.time = time
    }

    /// The report said nothing that was not known, not even later.
    var isSilent: Bool { !isChanged && !isRepeated }

    mutating func noteChange() { isChanged = true }

    /// What is said is worth writing, whatever was written in this grain.
    mutating func noteGrain() { isGrainCrossed = true }

    /// - Returns: whether something has changed.
    @discardableResult
    mutating func note(_ heard: Heard) -> Bool {
        switch heard {
        case .nothing: return false
        case .repeated: isRepeated = true
        case .changed: isChanged = true
        }
        return heard == .changed
    }

    /// Of something that all rows say.
    mutating func noteFact(_ heard: Heard) {
        if note(heard) { touched.touchEverything() }
    }

    /// A sign of life.
    ///
    /// - Returns: whether it is the first in its grain.
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
