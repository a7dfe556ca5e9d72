internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Store
internal import Telemetry

/// The position of the sweep, which visits all installations repeatedly, page by page.
struct SweepPosition {
    /// The number of installations in one page. One page is swept per second.
    static let rowsMax = 2000

    var partition: Int32?
    var range = KeyRange.everything
    /// The users whose erasure this pass has found in the partition.
    var erasures = Erasures()
    /// The start of the next pass.
    var nextPass = Instant.now()
}

extension IngestLoop {
    /// The interval at which a view without new records is marked as up to date.
    static let asOfMilliseconds = 600_000

    /// Runs once per second.
    func upkeep(_ now: Instant) throws {
        try views.retryBlocked(now, opening: member.owned.keys)
        transaction.serve()
        writer.serve()
        recheckClock()
        if writer.isRuined {
            throw StageFailure.client("the producer of dead letters has failed and must be rebuilt")
        }
        tellObstacles()
        metrics.overlay.set(Double(views.overlayRows))
        metrics.blocked.set(Double(member.stuck(isBlocked: views.blockage != nil)))
        if batch.isEmpty { metrics.oldestSeconds.set(0) }
        guard !member.mustStartOver, views.blockage == nil else { return }
        try views.keepRepeated()
        if now >= nextAsOf {
            nextAsOf = now.advanced(byMilliseconds: Self.asOfMilliseconds)
            views.refreshAsOf()
        }
        try sweepPage(now)
    }

    private func tellObstacles() {
        var obstacles = member.obstacles
        if let wrongClock { obstacles.insert(wrongClock, at: 0) }
        if let blockage = views.blockage { obstacles.insert(blockage.why, at: 0) }
        if !merges.isReady { obstacles.insert("the catalog has not been read to its end", at: 0) }
        shared.setObstacles(obstacles)
    }

    // MARK: Sweeping

    private func sweepPage(_ now: Instant) throws {
        guard isClockProven else { return }
        if sweep.partition == nil {
            guard now >= sweep.nextPass, let first = member.owned.keys.min() else { return }
            sweep.partition = first
            (sweep.range, sweep.erasures) = (.everything, Erasures())
            sweep.nextPass = now.advanced(byMilliseconds: settings.sweepMilliseconds)
        }
        guard let partition = sweep.partition else { return }
        let isDone = try sweepPage(of: partition)
        if isDone {
            sweep.partition = member.owned.keys.filter { $0 > partition }.min()
            (sweep.range, sweep.erasures) = (.everything, Erasures())
        }
    }

    /// Returns true if the partition has no more rows.
    private func sweepPage(of partition: Int32) throws -> Bool {
        guard let own = member.owned[partition], own.isServing, let view = views[partition],
            let offset = own.position.committed
        else { return true }
        // Without reports, nothing else has refreshed the apps.
        merges.refresh()
        let now = decisionTime
        var range = sweep.range
        var swept: [(key: KeyBytes, record: Int)] = []
        output.removeAll()
        var more: Bool
        var beyond: KeyRange?
        do throws(StoreError) {
            more = try view.page(&range, rows: SweepPosition.rowsMax) { key, value in
                if beyond != nil { return }
                if output.isFull {
                    beyond = KeyRange(from: [UInt8](copying: key))
                    return
                }
                let key = KeyBytes([UInt8](copying: key))
                // A row that is newer than the view is swept in the next pass.
                guard views.overlays[partition]?[key] == nil, let left = sweepRow(key, value: value, now: now)
                else {
                    return
                }
                for change in left.changes { output.add(change) }
                let record =
                    if let installation = left.installation {
                        output.add(installation, key: key.bytes, partition: partition)
                    } else {
                        output.addTombstone(key: key.bytes, partition: partition)
                    }
                swept.append((key, record))
                metrics.sweptRows.add(left.changes.count)
            }
        } catch {
            try views.rebuild(partition, error)
            return true
        }
        if let beyond {
            range = beyond
            more = true
        }
        sweep.range = range
        if swept.isEmpty { return !more }
        onStep(.sweepBegun)
        // The offsets do not change. Their commit proves that this process still owns the partition.
        guard let group = reports.captureGroup(forEpoch: reports.epoch) else { return true }
        let place = Kafka.TopicPartition(reportsTopic, partition)
        guard try commit([OffsetToCommit(place, offset: offset)], group) else { return true }
        let done = Instant.now()
        for (key, record) in swept {
            views.overlays[partition]?.committed(key, output.record(record), at: done)
        }
        onStep(.swept)
        return !more
    }

    private func sweepRow(_ key: KeyBytes, value: Span<UInt8>, now: Int64) -> Swept? {
        let installation = try? unsafe value.withUnsafeBytes { bytes throws(RecordError) in
            try unsafe Installation.decode(bytes, with: merges.reader)
        }
        guard let installation else { return nil }
        guard let merge = merges.known(installation.app) else {
            let grace = settings.deletedAppMilliseconds
            return merges.isGone(installation.app, forMilliseconds: grace) ? Merge.bury(installation) : nil
        }
        if let time = installation.erasedAt, key.bytes != installation.key,
            !sweep.erasures.add(installation.subject, of: installation.app, upTo: time)
        {
            log.error(
                "too many users were erased at once; erase the remaining users again after some days",
                .field("partition", sweep.partition ?? -1))
        }
        return merge.sweep(installation, sweep.erasures, now: now)
    }
}
