internal import Identifiers
internal import InstallationRecords

// Reports about activities. Three words tell that an activity is over. Its *closing* holds what the phone reported: that
// it ended, and that it was dismissed. Its *end cause* is the reason why it counts as ended: its closing, an unregistered
// type, or a list of running activities without it. `closed` is the event that tells an end cause.

extension ReportMerger {
    // MARK: An activity that runs

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
        let mayRevive =
            context.installation.activities[index].isExpired
            || context.installation.endCause(of: context.installation.activities[index]) != nil
        context.installation.activities[index].lastSeenAt = time
        // A revival is written at once, a repeated sign of life once per interval.
        if mayRevive {
            context.markChanged()
        } else {
            context.noteEffect(
                .repeated, previousTime: lastSeenAt, writeInterval: writeInterval.updateTokenMilliseconds)
        }
        return index
    }

    /// Merges the type and the group of an activity, which hold whether it runs or not. Returns the index of the
    /// activity.
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

    // MARK: States

    /// Merges the state that the phone shows for an activity. A final state (ended or dismissed) closes it.
    func mergeActivityState(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let state = report.state else { throw RejectedReport.missing(field: "state") }
        if state.isFinal {
            let index = try mergeActivityFacts(from: report, into: &context)
            return mergeClosing(by: state, ofActivityAt: index, into: &context)
        }
        let index = try mergeSignOfLife(from: report, into: &context)
        context.noteEffect(context.installation.activities[index].state.merge(state, at: context.time))
    }

    /// Merges a report that is older than the erasure of its installation. Only a final state still counts. All other
    /// facts of the report are erased, so they are not stored again.
    func mergeOnlyFinalState(from report: Report, into context: inout MergeContext) {
        guard report.kind == .state, let state = report.state, state.isFinal, let id = report.activity else {
            return
        }
        let index = context.installation.findOrAddActivity(id: id)
        context.affectedRows.insertActivity(at: index)
        mergeClosing(by: state, ofActivityAt: index, into: &context)
    }

    /// Merges a final state into the activity's closing. The earliest end and the earliest dismissal count, and later
    /// reports of them are repetitions.
    private func mergeClosing(
        by state: Report.ActivityState, ofActivityAt index: Int, into context: inout MergeContext
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

    // MARK: Lists and unregistered types

    /// Merges the list of running activities. An activity that it does not name has ended, unless a newer report shows
    /// it running.
    func mergeRunningActivities(from report: Report, into context: inout MergeContext) throws(RejectedReport)
    {
        guard let running = report.runningActivities else { throw RejectedReport.missing(field: "running") }
        let old = context.installation
        // The list is a set, so its order must not cause a change.
        let effect = context.installation.runningActivities.merge(running.sorted(), at: context.time)
        context.noteEffect(
            effect, previousTime: old.runningActivities?.at,
            writeInterval: writeInterval.updateTokenMilliseconds)
        context.affectedRows.insertAll()
        // A changed list is noted as a change already. A repeated list has only a later time.
        if effect == .repeated, mayLaterListChangeActivities(of: old, to: context.installation) {
            context.markChanged()
        }
    }

    /// Whether the later time of a repeated list may change an activity. It can end one that was reported between the
    /// two lists. It can also revive an expired one that the list names: `prune` decides that, and it runs only after a
    /// change.
    private func mayLaterListChangeActivities(of old: Installation, to new: Installation) -> Bool {
        new.activities.contains { old.endCause(of: $0) != new.endCause(of: $0) }
            || new.activities.contains(where: \.isExpired)
    }

    /// Merges a phone's request that no activity of a type is started on the phone any more.
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

    // MARK: Taps

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

    // MARK: Events of ends

    /// Appends one event for each activity that has ended by this report.
    func appendClosedEvents(from old: Installation?, to context: inout MergeContext) {
        let new = context.installation
        for index in new.activities.indices where context.affectedRows.containsActivity(at: index) {
            let activity = new.activities[index]
            guard let cause = new.endCause(of: activity), isEndNews(of: activity, since: old) else {
                continue
            }
            context.appendEvent(
                .closed, attributesType: activity.type?.value, activity: activity.id,
                group: activity.group?.value, cause: cause)
        }
    }

    /// Whether the end of an activity is news, because the activity ran before this report. If this report is the first
    /// one that names the activity, the end is news only if the phone reported it (`closing`). Otherwise the activity
    /// was never seen to run, for example because its type is unregistered.
    private func isEndNews(of activity: Installation.Activity, since old: Installation?) -> Bool {
        guard let old,
            let oldIndex = old.activities.firstIndex(where: { $0.id.isExactlyEqual(to: activity.id) })
        else { return activity.closing != nil }
        return old.endCause(of: old.activities[oldIndex]) == nil
    }
}
