internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Stages
internal import Store
internal import Telemetry

extension PlannerLoop {
    /// How often a view of a partition without news is told that it is still up to date.
    static let asOfMilliseconds = 600_000

    /// Once a second.
    func upkeep(_ now: Instant) throws {
        try views.retryBlocked(now, opening: member.owned.keys)
        transaction.serve()
        writer.serve()
        // What senders were not told is told again from the rows.
        if notes.serve() { for own in member.owned.values where own.isServing { walk.begin(own.partition) } }
        if writer.isRuined || notes.isRuined {
            throw StageFailure.client("a producer of the planner is at its end")
        }
        tellObstacles()
        metrics.overlay.set(Double(views.overlayRows))
        metrics.shared.clockDoubtSeconds.set(Double(clock.doubtMilliseconds) / 1000)
        metrics.held.set(Double(held.count))
        metrics.blocked.set(Double(member.stuck(isBlocked: views.blockage != nil)))
        if batch.isEmpty { metrics.shared.oldestSeconds.set(0) }
        guard isSettled, now >= nextAsOf else { return }
        nextAsOf = now.advanced(byMilliseconds: Self.asOfMilliseconds)
        views.refreshAsOf()
    }

    private func tellObstacles() {
        var obstacles = member.obstacles
        if let blockage = views.blockage { obstacles.insert(blockage.why, at: 0) }
        if !apps.isReady { obstacles.insert("the catalogue has not been read to its end", at: 0) }
        state.setObstacles(obstacles)
    }

    // MARK: Walking

    /// One page of what there is to walk through.
    func walkOn(_ now: Instant) throws {
        let serving = member.owned.values.filter(\.isServing).map(\.partition)
        guard
            let partition = walk.next(of: serving, at: now, intervalMilliseconds: settings.sweepMilliseconds),
            let view = views[partition]
        else { return }
        var range = walk.range
        var found = WalkedPage()
        let time = clock.surelyPast(at: now)
        let more: Bool
        do throws(StoreError) {
            more = try view.page(&range, rows: GroupWalk.rowsMax) { key, value in
                let bytes = KeyBytes([UInt8](copying: key))
                // Of what is newer than the view, everything that has to be known is known; but what its last planner
                // held may still wait in a row that has changed since.
                if let newer = views.overlays[partition]?[bytes] {
                    return found.takeHeld(of: bytes, newer.span, with: reader)
                }
                guard let glance = GroupGlance.look(key, value, with: reader)
                else { return }
                found.take(glance, bytes, time: time)
            }
        } catch {
            return try views.rebuild(partition, error)
        }
        onStep(.walked)
        if walk.isFirst { take(found, of: partition, at: now) }
        guard try forget(found.outlived, of: partition) else { return }
        walk.range = range
        if more { return }
        if walk.isFirst { member.owned[partition]?.isWalked = true }
        walk.finish()
    }

    private func take(_ page: WalkedPage, of partition: Int32, at now: Instant) {
        if let newest = page.newest { clock.sawRecorded(newest, at: now) }
        // What comes of it in time is the same as at once: whoever looks at it too early lets it wait again.
        for key in page.held { held.add(key, in: partition, at: 0) }
        for note in page.notes { notes.send(note) }
        metrics.notes.add(page.notes.count)
    }

    /// False when the rows are still there.
    private func forget(_ keys: [KeyBytes], of partition: Int32) throws -> Bool {
        if keys.isEmpty { return true }
        output.removeAll()
        for key in keys { output.addTombstone(key, partition: partition) }
        onStep(.sweepBegun)
        var work = PlannedWork()
        guard try commitAlone(&work, of: [partition]) else { return false }
        metrics.forgotten.add(keys.count)
        onStep(.swept)
        return true
    }
}

/// What one page of a walk has found.
private struct WalkedPage {
    var outlived: [KeyBytes] = []
    var held: [GroupKey] = []
    var notes: [SupersededNote] = []
    /// The newest stamp; milliseconds since 1970.
    var newest: Int64?

    /// Of a row that is newer than the view.
    mutating func takeHeld(of key: KeyBytes, _ row: Span<UInt8>, with reader: JSONReader) {
        guard case .group(_, true, _) = GroupGlance.look(key.bytes.span, row, with: reader),
            let key = unsafe key.bytes.withUnsafeBytes({ unsafe GroupKey(bytes: $0) })
        else { return }
        held.append(key)
    }

    /// - Parameter time: of the cluster in the partition, where it is known.
    mutating func take(_ glance: GroupGlance, _ key: KeyBytes, time: Int64?) {
        switch glance {
        case .seen(let at):
            newest = max(newest ?? at, at)
            if let time, !SeenSend.isKept(at, at: time) { outlived.append(key) }
        case .group(let lastAt, let isHeld, let note):
            newest = max(newest ?? lastAt, lastAt)
            if isHeld, let key = unsafe key.bytes.withUnsafeBytes({ unsafe GroupKey(bytes: $0) }) {
                held.append(key)
            }
            if let time, !isHeld, !GroupRow.isKept(lastAt, at: time) { return outlived.append(key) }
            // Of what is older nothing is on its way any more.
            if let note, time.map({ $0 - lastAt < SupersededNote.cancelledMilliseconds }) ?? true {
                notes.append(note)
            }
        }
    }
}
