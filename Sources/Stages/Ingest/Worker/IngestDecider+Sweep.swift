internal import InstallationRecords
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
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
    var erasures = ErasedUsers()
    /// The start of the next pass.
    var nextPass: Instant
}

extension IngestDecider {
    /// Sweeps one page. Nothing expires before its time has surely passed.
    func sweepPage(at now: Instant) throws {
        guard let time = stage.clock.earliestTime(at: now) else { return }
        if sweepPosition.partition == nil {
            guard now >= sweepPosition.nextPass, let first = stage.member.assignedPartitions.keys.min() else {
                return
            }
            sweepPosition.partition = first
            (sweepPosition.range, sweepPosition.erasures) = (.everything, ErasedUsers())
            sweepPosition.nextPass = now.advanced(byMilliseconds: settings.sweepMilliseconds)
        }
        guard let partition = sweepPosition.partition else { return }
        let isDone = try sweepPage(of: partition, time: time)
        if isDone {
            sweepPosition.partition = stage.member.assignedPartitions.keys.filter { $0 > partition }.min()
            (sweepPosition.range, sweepPosition.erasures) = (.everything, ErasedUsers())
        }
    }

    /// Returns true if the partition has no more rows.
    private func sweepPage(of partition: Int32, time: Int64) throws -> Bool {
        guard let part = stage.member.assignedPartitions[partition], part.isServing,
            let view = stage.views[partition],
            part.positions[0].committed != nil
        else { return true }
        // Without reports, nothing else has refreshed the apps.
        mergers.refresh()
        var range = sweepPosition.range
        var swept: [(key: HashedKey, record: Int)] = []
        beginTransaction()
        var more: Bool
        var beyond: KeyRange?
        do throws(StoreError) {
            more = try view.readPage(of: &range, rows: SweepPosition.rowsMax) { key, value in
                if beyond != nil { return }
                if output.isFull {
                    beyond = KeyRange(from: [UInt8](copying: key))
                    return
                }
                let key = HashedKey([UInt8](copying: key))
                // A row that is newer than the view is swept in the next pass.
                guard stage.views.overlays[partition]?[key] == nil,
                    let left = sweepRow(key: key, value: value, now: time)
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
            try stage.views.rebuild(partition, after: error)
            return true
        }
        if let beyond {
            range = beyond
            more = true
        }
        sweepPosition.range = range
        if swept.isEmpty { return !more }
        stage.reportStep(.sweepStarted)
        guard try commitWithoutRecords(of: [partition]) else { return true }
        let done = stage.time.now()
        for (key, record) in swept {
            stage.views.overlays[partition]?.recordCommit(
                of: key, as: output.record(number: record), at: done)
        }
        stage.reportStep(.sweepCommitted)
        return !more
    }

    private func sweepRow(key: HashedKey, value: Span<UInt8>, now: Int64) -> SweepResult? {
        let installation = try? unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe Installation.decode(bytes, with: mergers.reader)
        }
        guard let installation else { return nil }
        guard let merge = mergers.knownMerger(for: installation.app) else {
            let grace = settings.deletedAppMilliseconds
            return mergers.isMissing(app: installation.app, forMilliseconds: grace)
                ? ReportMerger.tombstones(of: installation) : nil
        }
        if let time = installation.erasedUpTo, key.bytes != installation.key,
            !sweepPosition.erasures.add(installation.subject, of: installation.app, upTo: time)
        {
            stage.log.error(
                "too many users were erased at once; erase the remaining users again after some days",
                .field("partition", sweepPosition.partition ?? -1))
        }
        return merge.sweep(installation, erasing: sweepPosition.erasures, now: now)
    }
}
