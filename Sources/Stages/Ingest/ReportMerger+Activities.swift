internal import Identifiers
internal import InstallationRecords

// Reports about activities: signs of life, states, taps, lists of running activities, and unregistered types.

extension ReportMerger {
    /// Merges a sign that an activity runs: its token, a state, or a heartbeat that names it. Returns the index of the
    /// activity.
    @discardableResult
    func mergeSignOfLife(from report: Report, into context: inout MergeContext) throws(RejectedReport) -> Int
    {
        let index = try mergeActivityFacts(from: report, into: &context)
        let time = context.time
        guard let lastSeenAt = context.installation.activities[index].lastSeenAt else {
            context.installation.activities[index].lastSeenAt = time
            context.markChanged()
            return index
        }
        guard time > lastSeenAt else { return index }
        // A later sign of life revives an activity that was only expired, unregistered or missing in a list.
        let isRevival =
            context.installation.activities[index].isExpired
            || context.installation.endCause(of: context.installation.activities[index]) != nil
        context.installation.activities[index].lastSeenAt = time
        // A repeated sign of life is written once per interval, a revival at once.
        context.noteEffect(.repeated, since: lastSeenAt, interval: writeInterval.updateTokenMilliseconds)
        if isRevival { context.markChanged() }
        return index
    }

    /// Merges the state that the phone shows for an activity. A final state ends it.
    func mergeActivityState(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let state = report.state else { throw RejectedReport.missing(field: "state") }
        if state.isFinal {
            let index = try mergeActivityFacts(from: report, into: &context)
            return mergeEnd(state, ofActivityAt: index, into: &context)
        }
        let index = try mergeSignOfLife(from: report, into: &context)
        context.noteEffect(context.installation.activities[index].state.merge(state, at: context.time))
    }

    /// Merges a report that is older than the erasure of its installation. Only the end of an activity still counts.
    /// All other facts of the report are erased, so they are not stored again.
    func mergeReportOlderThanErasure(from report: Report, into context: inout MergeContext) {
        guard report.kind == .state, let state = report.state, state.isFinal, let id = report.activity else {
            return
        }
        let index = context.installation.findOrAddActivity(id: id)
        context.affectedRows.insertActivity(at: index)
        mergeEnd(state, ofActivityAt: index, into: &context)
    }

    /// Merges a final state. The earliest dismissal and the earliest end count, and later reports of them are
    /// repetitions.
    private func mergeEnd(
        _ state: Report.ActivityState, ofActivityAt index: Int, into context: inout MergeContext
    ) {
        let oldClosing = context.installation.activities[index].closing ?? Installation.Closing()
        var closing = oldClosing
        if state == .dismissed {
            closing.dismissedAt = min(oldClosing.dismissedAt ?? context.time, context.time)
        } else {
            closing.endedAt = min(oldClosing.endedAt ?? context.time, context.time)
        }
        if closing == oldClosing { return }
        context.installation.activities[index].closing = closing
        context.markChanged()
    }

    /// Adds a tap on an activity, once.
    func mergeTap(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let id = report.activity else { throw RejectedReport.missing(field: "activityId") }
        let tap = Installation.Tap(at: context.time.event, id: report.id)
        // An older tap may be one that was pruned.
        if let prunedUpTo = context.installation.tapsPrunedUpTo, tap.at <= prunedUpTo { return }
        if context.installation.taps.contains(where: { $0.isSame(as: tap) }) { return }
        context.installation.taps.append(tap)
        context.markChanged()
        let activity = context.installation.activities.first { $0.id.isExactlyEqual(to: id) }
        context.appendEvent(
            .tap, attributesType: activity?.type?.value ?? report.attributesType, activity: id,
            group: activity?.group?.value ?? report.group, sendID: report.sendID,
            scheduleID: report.scheduleID, scheduleName: report.scheduleName)
    }

    /// Merges the request of the phone to start no activity of a type on it.
    func mergeUnregistration(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let type = report.attributesType else { throw RejectedReport.missing(field: "attributesType") }
        let index = context.installation.findOrAddStartToken(ofType: type)
        if let unregisteredAt = context.installation.startTokens[index].unregisteredAt,
            context.time <= unregisteredAt
        {
            return
        }
        context.installation.startTokens[index].unregisteredAt = context.time
        // An unregistration also ends activities.
        context.affectedRows.insertAll()
        context.markChanged()
    }

    /// Merges the list of running activities. An activity that it does not name has ended, unless a newer report shows
    /// it running.
    func mergeRunningActivities(from report: Report, into context: inout MergeContext) throws(RejectedReport)
    {
        guard let running = report.runningActivities else { throw RejectedReport.missing(field: "running") }
        let old = context.installation
        // The list is a set, so its order must not cause a change.
        let effect = context.installation.runningActivities.merge(running.sorted(), at: context.time)
        context.noteEffect(
            effect, since: old.runningActivities?.at, interval: writeInterval.updateTokenMilliseconds)
        context.affectedRows.insertAll()
        // A changed list counts as a change already. A repeated list has only a later time, which can still
        // end an activity that was reported between the two lists.
        guard effect == .repeated else { return }
        let new = context.installation
        let changesEnd = new.activities.contains { old.endCause(of: $0) != new.endCause(of: $0) }
        // The later time can also revive an expired activity that the list names. Only `prune` finds that
        // out, and a change makes sure that it runs.
        let mayRevive = new.activities.contains(where: \.isExpired)
        if changesEnd || mayRevive { context.markChanged() }
    }

    /// Merges the facts of an activity that hold whether it runs or not, and returns its index.
    private func mergeActivityFacts(from report: Report, into context: inout MergeContext)
        throws(RejectedReport) -> Int
    {
        guard let id = report.activity else { throw RejectedReport.missing(field: "activityId") }
        let index = context.installation.findOrAddActivity(id: id)
        context.affectedRows.insertActivity(at: index)
        if let type = report.attributesType {
            let effect = context.installation.activities[index].type.merge(type, at: context.time)
            context.noteEffect(effect)
        }
        if let group = report.group {
            let effect = context.installation.activities[index].group.merge(group, at: context.time)
            context.noteEffect(effect)
        }
        return index
    }

    /// Appends one event for each activity that has ended now.
    func appendClosedEvents(from old: Installation?, to context: inout MergeContext) {
        let new = context.installation
        for index in new.activities.indices where context.affectedRows.containsActivity(at: index) {
            let activity = new.activities[index]
            guard let cause = new.endCause(of: activity), isEndNew(of: activity, since: old) else { continue }
            context.appendEvent(
                .closed, attributesType: activity.type?.value, activity: activity.id,
                group: activity.group?.value, cause: cause)
        }
    }

    /// Whether the activity ran before this report, so that its end is news. For an activity that no earlier report has
    /// named, the end is news only if this report itself closes it. If the activity has ended for another reason, such
    /// as an unregistered type, it was never seen to run, and there is no event.
    private func isEndNew(of activity: Installation.Activity, since old: Installation?) -> Bool {
        guard let old,
            let oldIndex = old.activities.firstIndex(where: { $0.id.isExactlyEqual(to: activity.id) })
        else { return activity.closing != nil }
        return old.endCause(of: old.activities[oldIndex]) == nil
    }
}
