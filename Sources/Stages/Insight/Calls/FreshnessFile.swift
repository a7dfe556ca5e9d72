internal import Lifecycle
internal import Store
internal import Telemetry

/// The `FreshnessHistory` of a process in an LMDB file, so that a restart does not empty the charts. A file that cannot
/// be trusted is discarded, and the history then begins again.
final class FreshnessFile {
    /// The version of the layout. A file with another version is discarded.
    private static let schema = 1
    /// The limit of the file. It holds all samples of `FreshnessHistory.appsMax` apps several times.
    private static let limits = EnvironmentLimits(mapBytesAtStart: 16 << 20, mapBytesMax: 64 << 20)
    /// The size of a time in the table `behind`.
    private static let timeBytes = 8

    private enum FileTable: String, CaseIterable {
        /// `FreshnessHistory.Sample`, by app and minute. The minutes are used again in turn, as in a ring buffer.
        case samples
        /// The time since which a group is behind, by app and group.
        case behind
    }

    private let file: StateFile

    /// - Parameter cluster: The id of the cluster whose phones are counted.
    init(directory: String, cluster: String, boot: BootID) throws(StoreError) {
        file = try StateFile(
            directory: directory,
            conditions: ReuseConditions(
                schema: Self.schema, origin: "freshness of \(cluster)",
                ageMaxMilliseconds: FreshnessHistory.ageMaxMilliseconds),
            tables: FileTable.allCases.map(\.rawValue), limits: Self.limits, now: .now(), boot: boot)
    }

    var openingState: OpeningState { file.openingState }

    /// Returns the stored history. A damaged row is left out.
    func history() throws(StoreError) -> FreshnessHistory {
        var samples: [String: [FreshnessHistory.Sample]] = [:]
        var behindSince: [String: [String: Int64]] = [:]
        try file.read { view throws(StoreError) in
            try view.scan(table(.samples)) { key, stored in
                let valueBytes = FreshnessHistory.Sample.encodedBytes
                if let (names, value) = Self.row(key: key, stored: stored, valueBytes: valueBytes) {
                    samples[names[0], default: []].append(FreshnessHistory.Sample(value.span))
                }
                return .next
            }
            try view.scan(table(.behind)) { key, stored in
                if let (names, value) = Self.row(key: key, stored: stored, valueBytes: Self.timeBytes),
                    names.count > 1
                {
                    let (app, group) = (names[0], names[1])
                    behindSince[app, default: [:]][group] = Int64(
                        clamping: BigEndian.number(in: value.span, at: 0))
                }
                return .next
            }
        }
        return FreshnessHistory(samples: samples, behindSince: behindSince)
    }

    /// Writes a sample, and the change of the groups that are behind.
    func add(_ sample: FreshnessHistory.Sample, of app: String, behind change: FreshnessHistory.BehindChange)
        throws(StoreError)
    {
        var samples = RowBatch()
        var behind = RowBatch()
        samples.putWithChecksum(Self.key(of: sample, app: app).span, value: sample.encoded.span)
        for (group, since) in change.begun {
            var value: [UInt8] = []
            BigEndian.append(since, to: &value)
            behind.putWithChecksum(RowKey.joining(app, group).span, value: value.span)
        }
        for group in change.ended { behind.remove(RowKey.joining(app, group).span) }
        behind.sort()
        try file.write { transaction throws(StoreError) in
            try transaction.apply(samples, to: table(.samples))
            try transaction.apply(behind, to: table(.behind))
        }
    }

    /// Deletes the rows of an app.
    func remove(app: String) throws(StoreError) {
        for fileTable in FileTable.allCases {
            var rows = RowBatch()
            try file.read { view throws(StoreError) in
                try view.scan(table(fileTable), range: KeyRange(prefix: RowKey.joining(app))) { key, _ in
                    rows.remove(key)
                    return .next
                }
            }
            try file.write { transaction throws(StoreError) in
                try transaction.apply(rows, to: table(fileTable))
            }
        }
    }

    func close() throws(StoreError) { try file.close() }

    private func table(_ fileTable: FileTable) -> Table { file.table(named: fileTable.rawValue) }

    /// Returns the key of a sample's row: the app, and the minute within the ring in four bytes.
    private static func key(of sample: FreshnessHistory.Sample, app: String) -> [UInt8] {
        var key = RowKey.joining(app)
        BigEndian.append(
            UInt32(max(0, sample.at) / 60_000 % Int64(FreshnessHistory.samplesMax)), to: &key)
        return key
    }

    /// Returns the names in a key, which end with zero bytes, and the value. The bytes behind the names, such as a
    /// sample's minute, are further elements of the list. Returns nil if the row is damaged.
    private static func row(
        key: Span<UInt8>, stored: Span<UInt8>, valueBytes: Int
    ) -> (names: [String], value: [UInt8])? {
        guard RowChecksum.isValid(key: key, stored: stored),
            stored.count == RowChecksum.byteCount + valueBytes
        else { return nil }
        let value = stored.extracting(droppingFirst: RowChecksum.byteCount)
        let names = key.bytes.split(separator: 0, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        return (names, value.bytes)
    }
}

extension FreshnessHistory.Sample {
    fileprivate static let encodedBytes = 3 * 8

    /// The three numbers, eight bytes each.
    fileprivate var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for number in [at, Int64(running), Int64(onNewest)] { BigEndian.append(number, to: &bytes) }
        return bytes
    }

    fileprivate init(_ bytes: Span<UInt8>) {
        func number(_ index: Int) -> Int64 { Int64(clamping: BigEndian.number(in: bytes, at: index * 8)) }
        self.init(at: number(0), running: Int(number(1)), onNewest: Int(number(2)))
    }
}

extension Span<UInt8> {
    fileprivate var bytes: [UInt8] { indices.map { self[$0] } }
}
