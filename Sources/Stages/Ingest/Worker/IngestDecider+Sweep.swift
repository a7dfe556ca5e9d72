internal import InstallationRecords
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import StageSupport
internal import Store
internal import Telemetry

/// The position of the sweep, which visits all installations of this process repeatedly, page by page.
struct SweepPosition {
    /// The number of installations in one page. One page is swept per second.
    static let rowsMax = 2000

    /// The partition that is swept. Nil between two passes.
    private(set) var partition: Int32?
    /// The keys of the partition that this pass has not visited yet.
    var range = KeyRange.everything
    /// The users whose erasure this pass has found in the partition. Their rows sort before all installations.
    var erasures = ErasedUsers()
    /// The rows of the partition that this pass could not read, and the problem of the last one.
    private(set) var unreadableRows: (count: Int, error: RecordDecodingError)?
    /// The time at which the next pass may begin.
    var nextPass: Instant

    init(nextPass: Instant) { self.nextPass = nextPass }

    /// Moves to the beginning of a partition, or ends the pass.
    mutating func move(to partition: Int32?) {
        self.partition = partition
        (range, erasures, unreadableRows) = (.everything, ErasedUsers(), nil)
    }

    mutating func countUnreadableRow(_ error: RecordDecodingError) {
        unreadableRows = ((unreadableRows?.count ?? 0) + 1, error)
    }
}

extension IngestDecider {
    /// Sweeps one page. Data expires by the earliest time of the cluster's clock, so that nothing expires too early.
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

    /// Returns true if this pass is done with the partition.
    private func sweepPage(of partition: Int32, time: Int64) throws -> Bool {
        guard let part = stage.member.assignedPartitions[partition], part.isServing,
            let view = stage.views[partition],
            part.positions[0].committed != nil
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
        guard try commitWithoutRecords(of: [partition]) else { return true }
        let now = stage.time.now()
        for (key, recordNumber) in page.changes {
            stage.views.overlays[partition]?.recordCommit(
                of: key, as: output.record(number: recordNumber), at: now)
        }
        stage.reportStep(.sweepCommitted)
        return !page.hasMoreRows
    }

    /// Adds the changes of one page to the output, until the output is full.
    private func sweepRows(of partition: Int32, in view: TopicView, time: Int64) throws(StoreError)
        -> SweptPage
    {
        var range = sweepPosition.range
        var changes: [(key: HashedKey, recordNumber: Int)] = []
        // The rows from the first one that the output has no space for.
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
                let result = sweepRow(key: key, value: value, now: time)
            else {
                return
            }
            for change in result.changes { output.add(change) }
            let recordNumber =
                if let installation = result.installation {
                    output.add(installation, key: key.bytes, partition: partition)
                } else {
                    output.addTombstone(key: key.bytes, partition: partition)
                }
            changes.append((key, recordNumber))
            metrics.sweptRows.add(result.changes.count)
        }
        if let rangeBeyondOutput {
            return SweptPage(changes: changes, remainingRange: rangeBeyondOutput, hasMoreRows: true)
        }
        return SweptPage(changes: changes, remainingRange: range, hasMoreRows: hasMoreRows)
    }

    /// Returns the changes of one installation, or nil if nothing has expired.
    private func sweepRow(key: HashedKey, value: Span<UInt8>, now: Int64) -> SweptInstallation? {
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

    /// Remembers the erasure of a user, whose row is the copy of an erasure: it has the key of the user's erasure
    /// instead of an installation's.
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
    var remainingRange: KeyRange
    /// Whether `remainingRange` may have rows.
    var hasMoreRows: Bool
}
