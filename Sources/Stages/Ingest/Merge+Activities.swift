internal import LiveActivity

extension Merge {
    /// Merges a sign that an activity runs: its token, a state, or a heartbeat that names it.
    func hearAlive(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) {
        let index = try hearFacts(report, &hearing)
        let time = hearing.time
        guard let heard = hearing.installation.activities[index].heardAt else {
            hearing.installation.activities[index].heardAt = time
            return hearing.noteChange()
        }
        guard time > heard else { return }
        let wasOver =
            hearing.installation.activities[index].isExpired
            || hearing.installation.overBy(hearing.installation.activities[index]) != nil
        hearing.installation.activities[index].heardAt = time
        hearing.note(.repeated, since: heard, grain: grain.updateMilliseconds)
        if wasOver { hearing.noteChange() }
    }

    func hearState(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) {
        guard let state = report.state else { throw ReportMisfit.incomplete("state") }
        guard state.isFinal else {
            try hearAlive(report, &hearing)
            guard let id = report.activity else { return }
            let index = hearing.installation.activity(id)
            hearing.note(hearing.installation.activities[index].state.hear(state, at: hearing.time))
            return
        }
        hearClosing(isDismissal: state == .dismissed, of: try hearFacts(report, &hearing), &hearing)
    }

    /// Merges a report that is older than the erasure. Only the end of an activity still counts.
    func hearErased(_ report: Report, _ hearing: inout Hearing) {
        guard report.kind == .state, let state = report.state, state.isFinal, let id = report.activity else {
            return
        }
        let index = hearing.installation.activity(id)
        hearing.touched.touchActivity(index)
        hearClosing(isDismissal: state == .dismissed, of: index, &hearing)
    }

    private func hearClosing(isDismissal: Bool, of index: Int, _ hearing: inout Hearing) {
        let known = hearing.installation.activities[index].closing ?? Installation.Closing()
        // The earliest dismissal and the earliest end count. Later reports are repetitions.
        var closing = known
        if isDismissal {
            closing.dismissedAt = min(known.dismissedAt ?? hearing.time, hearing.time)
        } else {
            closing.endedAt = min(known.endedAt ?? hearing.time, hearing.time)
        }
        if closing == known { return }
        hearing.installation.activities[index].closing = closing
        hearing.noteChange()
    }

    func hearUnregister(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) {
        guard let type = report.attributesType else { throw ReportMisfit.incomplete("attributesType") }
        let index = hearing.installation.start(type)
        if let old = hearing.installation.starts[index].unregisteredAt, hearing.time <= old {
            return
        }
        hearing.installation.starts[index].unregisteredAt = hearing.time
        // An unregistration also ends activities.
        hearing.touched.touchEverything()
        hearing.noteChange()
    }

    /// Merges the list of running activities. Every other activity with an older report is over.
    func hearRunning(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) {
        guard let running = report.running else { throw ReportMisfit.incomplete("running") }
        let old = hearing.installation
        // The list is a set, so its order must not cause a change.
        let heard = hearing.installation.running.hear(running.sorted(), at: hearing.time)
        hearing.note(heard, since: old.running?.at, grain: grain.updateMilliseconds)
        hearing.touched.touchEverything()
        let new = hearing.installation
        guard heard == .repeated else { return }
        let hasChanged = new.activities.contains {
            $0.isExpired || old.overBy($0) != new.overBy($0)
        }
        if hasChanged { hearing.noteChange() }
    }

    /// Merges the facts of an activity that hold whether it runs or not, and returns its index.
    private func hearFacts(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) -> Int {
        guard let id = report.activity else { throw ReportMisfit.incomplete("activityId") }
        let index = hearing.installation.activity(id)
        hearing.touched.touchActivity(index)
        if let type = report.attributesType {
            let heard = hearing.installation.activities[index].type.hear(type, at: hearing.time)
            hearing.note(heard)
        }
        if let group = report.group {
            let heard = hearing.installation.activities[index].group.hear(group, at: hearing.time)
            hearing.note(heard)
        }
        return index
    }

    /// Appends one event for each activity that ran before and is over now.
    func appendClosings(from old: Installation?, to hearing: inout Hearing) {
        let new = hearing.installation
        for index in new.activities.indices where hearing.touched.hasActivity(index) {
            let activity = new.activities[index]
            guard let cause = new.overBy(activity), !wasOver(activity, in: old) else { continue }
            hearing.tell(
                .closed, attributesType: activity.type?.value, activity: activity.id,
                group: activity.group?.value, cause: cause)
        }
    }

    /// Whether the activity was already over. An unknown activity that is over without its own closing was
    /// reported after it ended. It counts as over, because no report showed it running.
    private func wasOver(_ activity: Installation.Activity, in old: Installation?) -> Bool {
        guard let old, let known = old.activities.firstIndex(where: { $0.id.isExactly(activity.id) }) else {
            return activity.closing == nil
        }
        return old.overBy(old.activities[known]) != nil
    }
}
