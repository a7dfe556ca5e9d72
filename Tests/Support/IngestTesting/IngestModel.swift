internal import Identifiers
internal import Ingest
package import InstallationRecords
internal import JSON
internal import Kafka
internal import RecordFormat
internal import Telemetry
package import TokenSealing

/// The expected result of the ingest stage: all records of `reports`, merged in the order of their topic by
/// `ReportMerger`. It runs in one process that never dies, without transactions, views or batches.
package struct IngestModel {
    /// The rows of `registry`, by key.
    package private(set) var registry: [[UInt8]: [UInt8]] = [:]
    /// The events in order, by `Event.orderKey`. Events of different keys have no order.
    package private(set) var events: [[UInt8]: [[UInt8]]] = [:]
    /// The installations, by the key of their reports.
    package private(set) var installations: [[UInt8]: Installation] = [:]
    /// The positions of the records that must become dead letters, as partition/offset.
    package private(set) var rejectedPositions: Set<String> = []
    private let mergers: [String: ReportMerger]
    private let lanes: Int
    private let reader = JSONReader()

    package init(reports: TopicContent, lanes: Int, keys: SealingKeys?) {
        self.lanes = lanes
        mergers = TestBed.apps.mapValues { ReportMerger(app: $0, seal: TokenSeal(keys: keys)) }
        let now = WallTime.now().milliseconds
        for record in reports.records { merge(record, at: now) }
    }

    private mutating func merge(_ record: ReadRecord, at now: Int64) {
        let position = "\(record.partition)/\(record.offset)"
        // A claim only leads to reports for the installations that lose their token, which are in the topic too.
        if let key = record.key, TokenOwnerRow.isKey(key.span) { return }
        guard let value = record.value, let report = try? Report.decode(value, with: reader) else {
            rejectedPositions.insert(position)
            return
        }
        // A record in a wrong partition was forwarded, and is also in the right partition.
        let key = report.key
        let rightPartition = Int32(Murmur2.partition(forKey: key.span, partitionCount: lanes))
        if record.partition != rightPartition { return }
        guard let merger = mergers[report.app] else {
            rejectedPositions.insert(position)
            return
        }
        switch merger.merge(
            report, arrival: Self.firstArrival(of: record), into: installations[key], now: now)
        {
        case .rejected: rejectedPositions.insert(position)
        case .unchanged: break
        case .merged(let merged) where !merged.mustBeWritten: installations[key] = merged.installation
        case .merged(let merged): apply(merged, toKey: key)
        }
    }

    /// Returns the arrival of a report. A forwarded record has the time and offset of its first arrival in its headers.
    private static func firstArrival(of record: ReadRecord) -> ReportArrival {
        let firstReceivedAt = record.headers["\(Report.receivedAtHeader)"].flatMap(Int64.init)
        let firstOffset = record.headers["\(Report.offsetHeader)"].flatMap(Int64.init)
        return ReportArrival(
            receivedAt: min(record.timestamp, firstReceivedAt ?? record.timestamp),
            offset: firstOffset ?? record.offset)
    }

    /// Applies the passage of time to all installations: expired tokens and activities get their rows and events.
    package mutating func sweep(at now: Int64) {
        for (key, installation) in installations {
            guard let swept = mergers[installation.app]?.sweep(installation, now: now) else { continue }
            installations[key] = swept.installation
            apply(swept.changes)
        }
    }

    private mutating func apply(_ outcome: MergedInstallation, toKey key: [UInt8]) {
        installations[key] = outcome.installation
        apply(outcome.changes)
        for event in outcome.events { events[event.orderKey, default: []].append(event.encoded()) }
    }

    private mutating func apply(_ changes: [RegistryChange]) {
        var writer = JSONWriter()
        for change in changes {
            change.row?.encode(to: &writer)
            registry[change.key.bytes] = change.row == nil ? nil : writer.bytes
        }
    }

    /// Returns the difference between the topics and the model, or nil if they are equal.
    package func difference(registry registryTopic: TopicContent, events eventsTopic: TopicContent) -> String?
    {
        difference(inRegistry: registryTopic) ?? difference(inEvents: eventsTopic)
    }

    private func difference(inRegistry topic: TopicContent) -> String? {
        let rows = topic.newestValues
        let wrongKeys = Set(rows.keys).union(registry.keys).filter {
            !isRowCorrect(forKey: $0, actual: rows[$0], expected: registry[$0])
        }
        if wrongKeys.isEmpty { return nil }
        let samples = wrongKeys.prefix(3).map { key in
            "\(text(of: key)): has \(text(of: rows[key])), wants \(text(of: registry[key]))"
        }
        return "\(wrongKeys.count) of \(registry.count) rows differ: " + samples.joined(separator: "; ")
    }

    private func difference(inEvents topic: TopicContent) -> String? {
        var writtenEvents: [[UInt8]: [[UInt8]]] = [:]
        for record in topic.records {
            guard let value = record.value, let event = try? Event.decode(value, with: reader) else {
                return "events has a record that is not an event: \(text(of: record.value))"
            }
            let lane = Int32(Murmur2.partition(forKey: event.key.span, partitionCount: lanes))
            guard record.key == event.key, record.partition == lane else {
                return "an event is in partition \(record.partition) instead of \(lane): \(text(of: value))"
            }
            writtenEvents[event.orderKey, default: []].append(value)
        }
        if writtenEvents != events {
            let writtenCount = writtenEvents.values.reduce(0) { $0 + $1.count }
            let expectedCount = events.values.reduce(0) { $0 + $1.count }
            return "events differ: there are \(writtenCount) instead of \(expectedCount)"
        }
        return nil
    }

    /// Whether the row in the topic is the model's, apart from times within one write interval.
    private func isRowCorrect(forKey key: [UInt8], actual: [UInt8]?, expected: [UInt8]?) -> Bool {
        if actual == expected { return true }
        guard let actual, let expected,
            let key = unsafe key.withUnsafeBytes({ unsafe RegistryKey(bytes: $0) }),
            let actualRow = decodeRow(actual, under: key.entry),
            let expectedRow = decodeRow(expected, under: key.entry),
            let interval = mergers[key.app]?.writeInterval
        else { return false }
        return actualRow.agrees(with: expectedRow, within: interval)
    }

    private func decodeRow(_ bytes: [UInt8], under entry: RegistryKey.Entry) -> RegistryRow? {
        try? unsafe bytes.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe RegistryRow.decode(bytes, under: entry, with: reader)
        }
    }

    private func text(of bytes: [UInt8]?) -> String {
        bytes.map { String(decoding: $0, as: UTF8.self) } ?? "nothing"
    }
}

extension Event {
    /// A text that two events share if their order is kept: the lane's key and the recipient.
    fileprivate var orderKey: [UInt8] {
        let subject = (installation.map(Recipient.installation) ?? .user(user ?? "")).text
        return key + [0] + Array(subject.utf8)
    }
}
