internal import Ingest
internal import JSON
internal import Kafka
package import LiveActivity
internal import Telemetry

/// The expected result of the stage: the merge of all reports in the order of their topic. It runs in one
/// process that never dies, without transactions, views or batches.
package struct IngestModel {
    /// The newest value of each key that has a value.
    package private(set) var registry: [[UInt8]: [UInt8]] = [:]
    /// The events in order, by installation and lane. Events of different keys have no order.
    package private(set) var events: [[UInt8]: [[UInt8]]] = [:]
    package private(set) var installations: [[UInt8]: Installation] = [:]
    /// The records that must be rejected, as partition/offset.
    package private(set) var misfits: Set<String> = []
    private let merges: [String: ReportMerger]
    private let lanes: Int
    private let reader = JSONReader()

    package init(_ reports: TopicContent, lanes: Int, keys: SealingKeys?) {
        self.lanes = lanes
        merges = IngestBed.apps.mapValues { ReportMerger(app: $0, seal: TokenSeal(keys: keys)) }
        let now = WallTime.now().milliseconds
        for record in reports.records {
            let place = "\(record.partition)/\(record.offset)"
            guard let value = record.value, let report = try? Report.decode(value, with: reader) else {
                misfits.insert(place)
                continue
            }
            // A record in a wrong partition was forwarded, and is also in the right partition.
            let key = report.key
            guard Int32(Murmur2.partition(forKey: key.span, partitionCount: lanes)) == record.partition else {
                continue
            }
            guard let merge = merges[report.app] else {
                misfits.insert(place)
                continue
            }
            let forwarded = record.headers["\(Report.receivedAtHeader)"].flatMap(Int64.init)
            let offset = record.headers["\(Report.offsetHeader)"].flatMap(Int64.init)
            let arrival = ReportArrival(
                receivedAt: min(record.timestamp, forwarded ?? record.timestamp),
                offset: offset ?? record.offset)
            switch merge.merge(report, arrival: arrival, into: installations[key], now: now) {
            case .rejected: misfits.insert(place)
            case .unchanged: break
            case .merged(let merged) where !merged.mustBeWritten: installations[key] = merged.installation
            case .merged(let merged): take(merged, key)
            }
        }
    }

    /// Applies the passage of time to all installations.
    package mutating func sweep(at now: Int64) {
        for (key, installation) in installations {
            guard let swept = merges[installation.app]?.sweep(installation, now: now) else { continue }
            installations[key] = swept.installation
            take(swept.changes)
        }
    }

    private mutating func take(_ merged: ReportOutcome, _ key: [UInt8]) {
        installations[key] = merged.installation
        take(merged.changes)
        for event in merged.events { events[event.orderKey, default: []].append(event.encoded()) }
    }

    private mutating func take(_ changes: [RegistryChange]) {
        var writer = JSONWriter()
        for change in changes {
            change.row?.encode(to: &writer)
            registry[change.key.bytes] = change.row == nil ? nil : writer.bytes
        }
    }

    /// Returns the difference between the topics and the model, or nil if they are equal.
    package func difference(registry found: TopicContent, events written: TopicContent) -> String? {
        let rows = found.newest
        let keys = Set(rows.keys).union(registry.keys).filter {
            !isRight($0, found: rows[$0], wanted: registry[$0])
        }
        if !keys.isEmpty {
            let samples = keys.prefix(3).map { key in
                "\(text(key)): has \(text(rows[key])), wants \(text(registry[key]))"
            }
            return "\(keys.count) of \(registry.count) rows differ: " + samples.joined(separator: "; ")
        }
        var lists: [[UInt8]: [[UInt8]]] = [:]
        for record in written.records {
            guard let value = record.value, let event = try? Event.decode(value, with: reader) else {
                return "events has a record that is not an event: \(text(record.value))"
            }
            let lane = Int32(Murmur2.partition(forKey: event.key.span, partitionCount: lanes))
            guard record.key == event.key, record.partition == lane else {
                return "an event is in partition \(record.partition) instead of \(lane): \(text(value))"
            }
            lists[event.orderKey, default: []].append(value)
        }
        if lists != events {
            let counts = (
                lists.values.reduce(0) { $0 + $1.count }, events.values.reduce(0) { $0 + $1.count }
            )
            return "events differ: there are \(counts.0) instead of \(counts.1)"
        }
        return nil
    }

    private func isRight(_ key: [UInt8], found: [UInt8]?, wanted: [UInt8]?) -> Bool {
        if found == wanted { return true }
        guard let found, let wanted,
            let key = unsafe key.withUnsafeBytes({ unsafe RegistryKey(bytes: $0) }),
            let has = row(found, under: key.entry), let wants = row(wanted, under: key.entry),
            let grain = merges[key.app]?.writeInterval
        else { return false }
        return has.agrees(with: wants, grain)
    }

    private func row(_ bytes: [UInt8], under entry: RegistryKey.Entry) -> RegistryRow? {
        try? unsafe bytes.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe RegistryRow.decode(bytes, under: entry, with: reader)
        }
    }

    private func text(_ bytes: [UInt8]?) -> String {
        bytes.map { String(decoding: $0, as: UTF8.self) } ?? "nothing"
    }
}

extension Event {
    /// The common part of all events whose order is kept.
    fileprivate var orderKey: [UInt8] {
        let subject = (installation.map(Recipient.installation) ?? .user(user ?? "")).text
        return key + [0] + Array(subject.utf8)
    }
}
