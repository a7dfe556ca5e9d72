internal import JSON
internal import Kafka
internal import Lifecycle
internal import Sends
internal import StageSupport
internal import Store
internal import Telemetry

extension PlannerDecider {
    /// Reads one page of the current walk.
    func scanNextPage(at now: Instant) throws {
        guard
            let partition = groupScan.nextPartition(
                of: servingPartitions.map(\.partition), at: now,
                intervalMilliseconds: settings.sweepMilliseconds),
            groupScan.pass != .notes || messageWriter.hasSpaceForPage,
            let view = stage.views[partition]
        else { return }
        var range = groupScan.range
        var found = ScannedPage()
        let time = stage.clock.earliestTime(at: now)
        let more: Bool
        do throws(StoreError) {
            more = try view.readPage(of: &range, rows: ViewScan.rowsMax) { key, value in
                found.rowCount += 1
                let name = HashedKey([UInt8](copying: key))
                let newer = stage.views.overlays[partition]?[name]
                let summary =
                    if let newer {
                        GroupRowSummary.decode(key: key, value: newer.span, with: reader)
                    } else {
                        GroupRowSummary.decode(key: key, value: value, with: reader)
                    }
                if let scope = summary?.heldScope { found.heldScopes.append(scope) }
                // A row that is newer than the view comes from this planner, so its note is sent. But it may
                // still hold a send that the previous planner held.
                if let summary, newer == nil { found.add(summary, key: name, time: time) }
            }
        } catch {
            return try stage.views.rebuild(partition, after: error)
        }
        stage.reportStep(.pageScanned)
        if groupScan.pass != .regular { apply(found, of: partition, at: now) }
        guard try deleteRows(withKeys: found.expiredKeys, of: partition) else { return }
        if !more, groupScan.pass == .first { stage.member.assignedPartitions[partition]?.isScanned = true }
        let end = stage.time.now()
        let pause = ScanPause.milliseconds(
            in: groupScan.pass, expiredRows: found.expiredKeys.count, rows: found.rowCount,
            pageMilliseconds: end.milliseconds(since: now))
        groupScan.finishPage(
            continuingIn: more ? range : nil, notBefore: end.advanced(byMilliseconds: pause))
    }

    private func apply(_ page: ScannedPage, of partition: Int32, at now: Instant) {
        if let newest = page.newestTime { stage.clock.observe(recordedTime: newest, at: now) }
        // The reminders are due at once. If the time of a held send has not come, its release adds a new
        // reminder.
        for key in page.heldScopes { heldSendReminders.add(key, in: partition, at: 0) }
        for note in page.supersededNotes { messageWriter.send(note) }
        metrics.supersededNotes.add(page.supersededNotes.count)
    }

    /// Deletes the rows. Returns false if they still exist.
    private func deleteRows(withKeys keys: [HashedKey], of partition: Int32) throws -> Bool {
        if keys.isEmpty { return true }
        beginTransaction()
        for key in keys { output.addTombstone(for: key, partition: partition) }
        stage.reportStep(.sweepStarted)
        guard try commitOutput(of: [partition]) else { return false }
        metrics.forgottenRows.add(keys.count)
        stage.reportStep(.sweepCommitted)
        return true
    }
}

/// The findings of one page of a walk.
private struct ScannedPage {
    var rowCount = 0
    var expiredKeys: [HashedKey] = []
    var heldScopes: [ScopeKey] = []
    var supersededNotes: [SupersededVersions] = []
    /// The newest stamp, in milliseconds since 1970.
    var newestTime: Int64?

    /// - Parameter time: the cluster's time, if it is known.
    mutating func add(_ summary: GroupRowSummary, key: HashedKey, time: Int64?) {
        newestTime = [newestTime, summary.lastSendAt].compactMap(\.self).max()
        if let time, summary.heldScope == nil, time >= summary.end { return expiredKeys.append(key) }
        // Jobs of older sends are not in flight any more.
        if let note = summary.note, let at = summary.lastSendAt,
            time.map({ $0 - at < SupersededVersions.cancelledMilliseconds }) ?? true
        {
            supersededNotes.append(note)
        }
    }
}
