internal import LiveActivity

/// An installation while a report is heard: what has become of it, and whether that is worth writing.
struct Hearing {
    var installation: Installation
    let time: ReportTime
    var events: [Event] = []
    private(set) var isChanged = false
    private(set) var isRepeated = false
    private(set) var isGrainCrossed = false

    init(_ installation: Installation, receivedAt: Int64, claimed: Int64?) {
        self.installation = installation
        time = ReportTime(claimed: claimed, received: receivedAt)
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

    /// A sign of life, and whether it is the first in its grain.
    mutating func note(_ heard: Heard, since old: ReportTime?, grain: Int64) {
        note(heard)
        if heard == .repeated, Grain.isCrossed(grain, from: old?.received, to: time.received) {
            isGrainCrossed = true
        }
    }

    func event(_ code: Event.Code) -> Event {
        var event = Event(
            code, app: installation.app, eventTime: time.event, receivedAt: time.received)
        event.environment = installation.environment?.value
        if case .installation(let id) = installation.subject { event.installation = id }
        if case .user(let id) = installation.recipient { event.user = id }
        return event
    }
}
