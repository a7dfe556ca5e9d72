internal import LiveActivity

extension Merge {
    /// A sign that an activity runs: its token, a state, a heartbeat that names it.
    func hearAlive(_ report: Report, _ hearing: inout Hearing) throws(Rejection) {
        let place = try hearFacts(report, &hearing)
        let time = hearing.time
        let activity = hearing.installation.activities[place]
        guard let heard = activity.heardAt else {
            hearing.installation.activities[place].heardAt = time
            return hearing.noteChange()
        }
        guard time > heard else { return }
        let wasOver = activity.isExpired || hearing.installation.overBy(activity) != nil
        hearing.installation.activities[place].heardAt = time
        hearing.note(.repeated, since: heard, grain: grain.updateMilliseconds)
        if wasOver { hearing.noteChange() }
    }

    func hearState(_ report: Report, _ hearing: inout Hearing) throws(Rejection) {
        guard let state = report.state else { throw Rejection.incomplete("state") }
        guard state.isFinal else {
            try hearAlive(report, &hearing)
            guard let id = report.activity else { return }
            let place = hearing.installation.activity(id)
            hearing.note(hearing.installation.activities[place].state.hear(state, at: hearing.time))
            return
        }
        let place = try hearFacts(report, &hearing)
        let new = Installation.Closing(isDismissed: state == .dismissed, at: hearing.time)
        if let old = hearing.installation.activities[place].closing, !new.stands(over: old) { return }
        hearing.installation.activities[place].closing = new
        hearing.noteChange()
    }

    func hearUnregister(_ report: Report, _ hearing: inout Hearing) throws(Rejection) {
        guard let type = report.attributesType else { throw Rejection.incomplete("attributesType") }
        let place = hearing.installation.start(type)
        if let old = hearing.installation.starts[place].unregisteredAt, hearing.time <= old { return }
        hearing.installation.starts[place].unregisteredAt = hearing.time
        hearing.noteChange()
    }

    /// The list of what runs: whatever else was heard of before it is over.
    func hearRunning(_ report: Report, _ hearing: inout Hearing) throws(Rejection) {
        guard let running = report.running else { throw Rejection.incomplete("running") }
        let old = hearing.installation
        // The list is a set; its order must not make a change.
        let heard = hearing.installation.running.hear(running.sorted(), at: hearing.time)
        hearing.note(heard, since: old.running?.at, grain: grain.updateMilliseconds)
        let new = hearing.installation
        guard heard == .repeated else { return }
        let hasChanged = new.activities.contains {
            $0.isExpired || old.overBy($0) != new.overBy($0)
        }
        if hasChanged { hearing.noteChange() }
    }

    /// What belongs to an activity whether it runs or not.
    private func hearFacts(_ report: Report, _ hearing: inout Hearing) throws(Rejection) -> Int {
        guard let id = report.activity else { throw Rejection.incomplete("activityId") }
        let place = hearing.installation.activity(id)
        if let type = report.attributesType {
            let heard = hearing.installation.activities[place].type.hear(type, at: hearing.time)
            hearing.note(heard)
        }
        if let group = report.group {
            let heard = hearing.installation.activities[place].group.hear(group, at: hearing.time)
            hearing.note(heard)
        }
        return place
    }

    /// One event for each activity that ran and is over now.
    func closings(from old: Installation?, to new: Installation, _ hearing: Hearing) -> [Event] {
        var events: [Event] = []
        for activity in new.activities {
            guard let cause = new.overBy(activity) else { continue }
            let known = old?.activities.first { $0.id.isExactly(activity.id) }
            if let known, old?.overBy(known) != nil { continue }
            // Reported late, when it was over already: nobody saw it run.
            if known == nil, activity.closing == nil { continue }
            var event = hearing.event(.closed)
            event.activity = activity.id
            event.attributesType = activity.type?.value
            event.group = activity.group?.value
            event.cause = cause
            events.append(event)
        }
        return events
    }
}

extension Installation.Closing {
    /// A person's own hand counts more than the end that came with it, and the first word of either kind
    /// more than its repetition.
    fileprivate func stands(over other: Installation.Closing) -> Bool {
        isDismissed == other.isDismissed ? at < other.at : isDismissed
    }
}
