internal import InstallationRecords
internal import Kafka
internal import RecordFormat
internal import StageSupport
internal import Store
internal import Telemetry

// The installation before a report: from the current transaction, else from the overlay, else from the view.

extension IngestDecider {
    /// Returns the index of the entry with the current report's key. A new entry gets the newest known installation.
    func findOrLoadEntry(
        keyHash: UInt32, in installations: inout InstallationBatch, overlay: Overlay, view: TopicView,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> Int {
        if let index = installations.index(of: reportKey, hash: keyHash) { return index }
        let key = HashedKey(reportKey)
        let installation =
            if let record = overlay[key] { decodeOverlayRecord(record) } else {
                try readInstallation(for: key, in: view, snapshot: snapshot, installations: &installations)
            }
        return installations.add(key: key, hash: keyHash, installation: installation)
    }

    /// Decodes a record of the overlay. Returns nil for a tombstone, which is empty.
    func decodeOverlayRecord(_ record: [UInt8]) -> Installation? {
        if record.isEmpty { return nil }
        output.countDecoded(bytes: record.count)
        guard let installation = try? Installation.decode(record, with: mergers.reader) else {
            preconditionFailure("a record that this process has written cannot be read")
        }
        return installation
    }

    /// Reads an installation from the view. Returns nil if the view has none, or one that cannot be read.
    private func readInstallation(
        for key: HashedKey, in view: TopicView, snapshot: borrowing ReadSnapshot,
        installations: inout InstallationBatch
    ) throws(StoreError) -> Installation? {
        var installation: Installation?
        var newerRecord: RecordDecodingError?
        try view.lookUp(key.bytes.span, in: snapshot) { value in
            output.countDecoded(bytes: value.count)
            do throws(RecordDecodingError) {
                installation = try unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                    try unsafe Installation.decode(bytes, with: mergers.reader)
                }
            } catch {
                // The checksum before the value is right, so the topic holds this record.
                if case .unknownVersion = error { newerRecord = error }
                stage.log.error(
                    "a record of installations cannot be read; the next report of the installation makes a new one",
                    .field("partition", view.topicPartition.partition), .field("error", error))
            }
        }
        if let newerRecord { installations.newerRecord = newerRecord }
        return installation
    }
}
