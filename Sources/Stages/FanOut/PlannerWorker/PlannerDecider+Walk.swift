internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry

extension PlannerDecider {
    /// Reads one page of the current walk.
    func walkOn(_ now: Instant) throws {
        guard
            let partition = walk.nextPartition(
                of: serving.map(\.partition), at: now, intervalMilliseconds: settings.sweepMilliseconds),
            let view = stage.views[partition]
        else { return }
        var range = walk.range
        var found = WalkedPage()
        let time = stage.clock.surelyPast(at: now)
        let more: Bool
        do throws(StoreError) {
            more = try view.readPage(of: &range, rows: GroupScan.rowsMax) { key, value in
                let bytes = HashedKey([UInt8](copying: key))
                // A row that is newer than the view comes from this planner, so its note is sent. But it may
                // still hold a send that the previous planner held.
                if let newer = stage.views.overlays[partition]?[bytes] {
                    return found.takeHeld(of: bytes, newer.span, with: reader)
                }
                guard let glance = GroupRowSummary.decode(key: key, value: value, with: reader)
                else { return }
                found.take(glance, bytes, time: time)
            }
        } catch {
            return try stage.views.rebuild(partition, after: error)
        }
        stage.reached(.scanned)
        if walk.isFirstPass { take(found, of: partition, at: now) }
        guard try forget(found.outlived, of: partition) else { return }
        walk.range = range
        if more { return }
        if walk.isFirstPass { stage.member.owned[partition]?.isScanned = true }
        walk.finishPartition()
    }

    private func take(_ page: WalkedPage, of partition: Int32, at now: Instant) {
        if let newest = page.newest { stage.clock.sawRecorded(newest, at: now) }
        // The reminders are due at once. If the time of a held send has not come, its release adds a new
        // reminder.
        for key in page.held { held.add(key, in: partition, at: 0) }
        for note in page.notes { notes.send(note) }
        metrics.notes.add(page.notes.count)
    }

    /// Deletes the rows. Returns false if they still exist.
    private func forget(_ keys: [HashedKey], of partition: Int32) throws -> Bool {
        if keys.isEmpty { return true }
        beginTransaction()
        for key in keys { output.addTombstone(for: key, partition: partition) }
        stage.reached(.sweepBegun)
        guard try commitAlone(of: [partition]) else { return false }
        metrics.forgotten.add(keys.count)
        stage.reached(.swept)
        return true
    }
}

/// The findings of one page of a walk.
private struct WalkedPage {
    var outlived: [HashedKey] = []
    var held: [ScopeKey] = []
    var notes: [SupersededVersions] = []
    /// The newest stamp, in milliseconds since 1970.
    var newest: Int64?

    /// Takes the held send of a row that is newer than the view.
    mutating func takeHeld(of key: HashedKey, _ row: Span<UInt8>, with reader: JSONReader) {
        guard case .group(_, true, _) = GroupRowSummary.decode(key: key.bytes.span, value: row, with: reader),
            let key = unsafe key.bytes.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) })
        else { return }
        held.append(key)
    }

    /// - Parameter time: the cluster's time, if it is known.
    mutating func take(_ glance: GroupRowSummary, _ key: HashedKey, time: Int64?) {
        switch glance {
        case .seenSend(let at):
            newest = max(newest ?? at, at)
            if let time, !Idempotency.isKept(writtenAt: at, at: time) { outlived.append(key) }
        case .group(let lastAt, let isHeld, let note):
            newest = max(newest ?? lastAt, lastAt)
            if isHeld, let key = unsafe key.bytes.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }) {
                held.append(key)
            }
            if let time, !isHeld, !GroupRow.isKept(lastSendAt: lastAt, at: time) {
                return outlived.append(key)
            }
            // Jobs of older sends are not in flight any more.
            if let note, time.map({ $0 - lastAt < SupersededVersions.cancelledMilliseconds }) ?? true {
                notes.append(note)
            }
        }
    }
}
