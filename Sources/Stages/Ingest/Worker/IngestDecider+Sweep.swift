internal import InstallationRecords
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import StageSupport
internal import Store
internal import Telemetry

// The sweep: it visits all installations of this process repeatedly, page by page, and writes the effects of time.

extension IngestDecider {
    /// Sweeps one page, and begins a pass if one is due. Data expires by the earliest time of the cluster's clock, so
    /// that nothing expires too early.
    func sweepPage(at now: Instant) throws {
        guard let time = stage.clock.earliestTime(at: now) else { return }
        if sweepPosition.partition == nil {
            guard now >= sweepPosition.nextPass, let first = stage.member.assignedPartitions.keys.min() else {
                return
            }
            sweepPosition.move(to: first)
            sweepPosition.nextPass = now.advanced(byMilliseconds: settings.sweepMilliseconds)
        }
        guard let partition = sweepPosition.partition else { return }
        let isDone = try sweepPage(of: partition, time: time)
        if isDone {
            logUnreadableRows(of: partition)
            sweepPosition.move(to: stage.member.assignedPartitions.keys.filter { $0 > partition }.min())
        }
    }

    /// Logs the rows that this pass could not read, once for each partition and pass.
    private func logUnreadableRows(of partition: Int32) {
        guard let (count, error) = sweepPosition.unreadableRows else { return }
        stage.log.error(
            "records of installations cannot be read, so they never expire; the next report of each installation makes a new record",
            .field("partition", partition), .field("records", count), .field("error", error))
    }

    /// Sweeps one page, and commits its changes in one transaction. Returns true if this pass is done with the
    /// partition.
    private func sweepPage(of partition: Int32, time: Int64) throws -> Bool {
        let onlyTopic = 0
        // Without a committed offset, the transaction could not prove that this process owns the partition.
        guard let part = stage.member.assignedPartitions[partition], part.isServing,
            let view = stage.views[partition],
            part.positions[onlyTopic].committed != nil
        else { return true }
        // A partition without reports has no batch that refreshes the apps.
        mergers.refresh()
        beginTransaction()
        let page: SweptPage
        do throws(StoreError) {
            page = try sweepRows(of: partition, in: view, time: time)
        } catch {
            try stage.views.rebuild(partition, after: error)
            return true
        }
        sweepPosition.range = page.remainingRange
        if page.changes.isEmpty { return !page.hasMoreRows }
        stage.reportStep(.sweepStarted)
        guard try commitOutput(of: [partition]) else { return true }
        let now = stage.time.now()
        for (key, recordNumber) in page.changes {
            stage.views.overlays[partition]?.recordCommit(
                of: key, as: output.record(number: recordNumber), at: now)
        }
        stage.reportStep(.sweepCommitted)
        return !page.hasMoreRows
    }

    /// Adds the changes of one page to the output. If the output becomes full, the page ends there.
    private func sweepRows(of partition: Int32, in view: TopicView, time: Int64) throws(StoreError)
        -> SweptPage
    {
        var range = sweepPosition.range
        var changes: [(key: HashedKey, recordNumber: Int)] = []
        // The keys from the first row for which the output has no space.
        var rangeBeyondOutput: KeyRange?
        let hasMoreRows = try view.readPage(of: &range, rows: SweepPosition.rowsMax) { key, value in
            if rangeBeyondOutput != nil { return }
            if output.isFull {
                rangeBeyondOutput = KeyRange(from: [UInt8](copying: key))
                return
            }
            let key = HashedKey([UInt8](copying: key))
            // A row that is newer in the overlay is swept in the next pass.
            guard stage.views.overlays[partition]?[key] == nil,
                let swept = sweepRow(key: key, value: value, now: time)
            else {
                return
            }
            for change in swept.changes { output.add(change) }
            let recordNumber =
                if let installation = swept.installation {
                    output.add(installation, key: key.bytes, partition: partition)
                } else {
                    output.addTombstone(key: key.bytes, partition: partition)
                }
            changes.append((key, recordNumber))
            metrics.sweptRows.add(swept.changes.count)
        }
        if let rangeBeyondOutput {
            return SweptPage(changes: changes, remainingRange: rangeBeyondOutput, hasMoreRows: true)
        }
        return SweptPage(changes: changes, remainingRange: range, hasMoreRows: hasMoreRows)
    }

    /// Returns the changes of one installation, or nil if nothing has expired.
    private func sweepRow(key: HashedKey, value: Span<UInt8>, now: Int64) -> SweptInstallation? {
        if TokenOwnerRow.isKey(key.bytes.span) { return sweepOwner(value, now: now) }
        let installation: Installation
        do throws(RecordDecodingError) {
            installation = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe Installation.decode(bytes, with: mergers.reader)
            }
        } catch {
            sweepPosition.countUnreadableRow(error)
            return nil
        }
        guard let merger = mergers.knownMerger(for: installation.app) else {
            let isDeletedApp = mergers.isMissing(
                app: installation.app, forMilliseconds: settings.deletedAppMilliseconds)
            return isDeletedApp ? ReportMerger.tombstones(of: installation) : nil
        }
        rememberErasure(in: installation, key: key)
        return merger.sweep(installation, erasing: sweepPosition.erasures, now: now)
    }

    /// Returns the end of a token's owner, or nil if it is kept.
    private func sweepOwner(_ value: Span<UInt8>, now: Int64) -> SweptInstallation? {
        do throws(RecordDecodingError) {
            let row = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe TokenOwnerRow.decode(bytes, with: mergers.reader)
            }
            let isUseless =
                TokenOwner.isExpired(row, at: now)
                || mergers.isMissing(app: row.app, forMilliseconds: settings.deletedAppMilliseconds)
            return isUseless ? SweptInstallation(installation: nil, changes: []) : nil
        } catch {
            sweepPosition.countUnreadableRow(error)
            return nil
        }
    }

    /// Remembers an erasure if the row is a copy of one (`ErasedUsers`). Such a row has another key than its subject.
    private func rememberErasure(in row: Installation, key: HashedKey) {
        guard let time = row.erasedUpTo, key.bytes != row.key else { return }
        if !sweepPosition.erasures.add(row.subject, of: row.app, upTo: time) {
            stage.log.error(
                "too many users were erased at once; erase the remaining users again after some days",
                .field("partition", sweepPosition.partition ?? -1))
        }
    }
}

/// One page of installations, after its changes are in the output.
private struct SweptPage {
    /// The changed installations, with the numbers of their records in the output.
    var changes: [(key: HashedKey, recordNumber: Int)]
    /// The keys after this page.
    var remainingRange: KeyRange
    /// Whether `remainingRange` may have rows.
    var hasMoreRows: Bool
}
