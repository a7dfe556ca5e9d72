internal import Identifiers
internal import InstallationRecords
internal import Kafka
internal import StageSupport
internal import Store
internal import Telemetry

// The erasure of users from the installations of one partition, in the transaction that stores the erasure. After its
// commit the registry has no row of these users, so no later send reaches them.

extension IngestDecider {
    /// The most rows of the view that are read at a time.
    private static let erasurePageRows = 2000
    /// The most installations that one transaction reads for erasures. The sweep erases the rest. A user has few
    /// installations, unless an app reports one name for all its guests.
    private static let erasedInstallationsMax = 10_000

    /// Remembers the user of an erasure's row until the partition's installations are searched. At the limit the user
    /// is erased by the sweep.
    func notePendingErasure(in row: Installation) {
        if let time = row.erasedUpTo { _ = pendingErasures.add(row.subject, of: row.app, upTo: time) }
    }

    /// Erases users from all installations of a partition: those that the transaction has changed, those in the
    /// overlay, and those in the view. If the output becomes full, the sweep erases the rest.
    func erase(
        _ erasures: ErasedUsers, from installations: inout InstallationBatch, overlay: Overlay,
        view: TopicView
    ) throws(StoreError) {
        for index in installations.entries.indices { erase(erasures, fromEntryAt: index, in: &installations) }
        let concerned = try concernedRecords(of: erasures, overlay: overlay, view: view)
        if concerned.count == Self.erasedInstallationsMax {
            logUnfinishedErasure(in: installations.partition)
        }
        for (key, record) in concerned {
            if output.isFull { return logUnfinishedErasure(in: installations.partition) }
            let hash = Murmur2.hash(of: key.bytes.span)
            guard installations.index(of: key.bytes, hash: hash) == nil,
                let installation = decodeOverlayRecord(record)
            else { continue }
            let index = installations.add(key: key, hash: hash, installation: installation)
            erase(erasures, fromEntryAt: index, in: &installations)
        }
    }

    private func erase(
        _ erasures: ErasedUsers, fromEntryAt index: Int, in installations: inout InstallationBatch
    ) {
        guard let installation = installations.entries[index].installation,
            let merger = mergers.knownMerger(for: installation.app),
            let erased = merger.erase(erasures, from: installation, now: decidedAt)
        else { return }
        _ = apply(erased, toEntryAt: index, in: &installations)
        metrics.erasedInstallations.add(1)
    }

    /// Returns the known records that can name an erased user, up to the limit.
    private func concernedRecords(
        of erasures: ErasedUsers, overlay: Overlay, view: TopicView
    ) throws(StoreError) -> [(key: HashedKey, record: [UInt8])] {
        var concerned: [(key: HashedKey, record: [UInt8])] = []
        var isFull: Bool { concerned.count >= Self.erasedInstallationsMax }
        for app in erasures.apps {
            let prefix = RecordKey.join(app, "i:")
            overlay.forEachRow { key, record in
                if !isFull, key.bytes.starts(with: prefix), erasures.mayConcern(record.span, of: app) {
                    concerned.append((key, record))
                }
            }
            var range = KeyRange(prefix: prefix)
            var hasMore = true
            while hasMore, !isFull {
                hasMore = try view.readPage(of: &range, rows: Self.erasurePageRows) { key, value in
                    guard !isFull, erasures.mayConcern(value, of: app) else { return }
                    let key = HashedKey([UInt8](copying: key))
                    // The row in the overlay is newer.
                    if overlay[key] == nil { concerned.append((key, [UInt8](copying: value))) }
                }
            }
        }
        return concerned
    }

    private func logUnfinishedErasure(in partition: Int32) {
        stage.log.warning(
            "an erased user has more installations than one transaction can erase; the sweep erases the rest",
            .field("partition", partition))
    }
}
