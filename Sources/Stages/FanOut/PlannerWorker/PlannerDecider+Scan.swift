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
                let bytes = HashedKey([UInt8](copying: key))
                // A row that is newer than the view comes from this planner, so its note is sent. But it may
                // still hold a send that the previous planner held.
                if let newer = stage.views.overlays[partition]?[bytes] {
                    return found.addHeldSend(of: bytes, row: newer.span, with: reader)
                }
                guard let glance = GroupRowSummary.decode(key: key, value: value, with: reader)
                else { return }
                found.add(glance, key: bytes, time: time)
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

    /// Takes the held send of a row that is newer than the view.
    mutating func addHeldSend(of key: HashedKey, row: Span<UInt8>, with reader: JSONReader) {
        guard
            case .group(_, _, true, _) = GroupRowSummary.decode(key: key.bytes.span, value: row, with: reader),
            let key = unsafe key.bytes.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) })
        else { return }
        heldScopes.append(key)
    }

    /// - Parameter time: the cluster's time, if it is known.
    mutating func add(_ summary: GroupRowSummary, key: HashedKey, time: Int64?) {
        switch summary {
        case .seenSend(let at):
            newestTime = max(newestTime ?? at, at)
            if let time, !Idempotency.isKept(writtenAt: at, at: time) { expiredKeys.append(key) }
        case .subscribedGroups(let end):
            if let time, time >= end { expiredKeys.append(key) }
        case .group(let lastAt, let membersUntil, let isHeld, let note):
            newestTime = max(newestTime ?? lastAt, lastAt)
            if isHeld, let key = unsafe key.bytes.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }) {
                heldScopes.append(key)
            }
            if let time, !isHeld, !GroupRow.isKept(lastSendAt: lastAt, membersUntil: membersUntil, at: time) {
                return expiredKeys.append(key)
            }
            // Jobs of older sends are not in flight any more.
            if let note, time.map({ $0 - lastAt < SupersededVersions.cancelledMilliseconds }) ?? true {
                supersededNotes.append(note)
            }
        }
    }
}
