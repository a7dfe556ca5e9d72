package import IngestTesting
internal import JSON
internal import Kafka
internal import LiveActivity
internal import Topics

/// The content of a day's topics, counted with dictionaries of single jobs, events and rows.
package struct DayModel {
    struct SendKey: Hashable {
        var app: String
        var send: String
    }

    struct Name: Hashable {
        var app: String
        var name: String
    }

    struct Sums {
        var ends: [Environment: [String: Int]] = [:]
        var reasons: [String: Int] = [:]
        /// The counts by system, then by outcome.
        var systems: [String: [String: Int]] = [:]
        var latencies: [Int64] = []
        var lanes: [Int: LaneTally] = [:]
        var isPlanned = false
    }

    struct Push: Hashable {
        var at: Int64
        var send: String
        var outcome: String
        var installation: String
    }

    struct Count: Hashable {
        var app: String
        var hour: Int64
        var code: String
        var type: String?
        var group: String?
    }

    var sends: [SendKey: Sums] = [:]
    var pushes: [Name: [Push]] = [:]
    var counts: [Count: Int] = [:]
    /// The times of taps, by group.
    var taps: [Name: [Int64]] = [:]
    /// The events by user, as `time code installation`.
    var eventsOfUsers: [Name: [String]] = [:]
    /// The number of each event by app, in the same form.
    var events: [String: [String: Int]] = [:]
    var groups: [Name: GroupRow] = [:]
    var phones: [Name: Installation] = [:]
    var timers: [Name: Set<String>] = [:]
    var audit: [String: [Int64]] = [:]
    private(set) var records = 0

    package init(_ bed: IngestBed) throws {
        try readReceipts(bed)
        let reader = JSONReader()
        records += try Self.each(.events, of: bed) { record in
            guard let event = record.value.flatMap({ try? Event.decode($0, with: reader) }) else { return }
            enter(event)
        }
        records += try Self.each(.progress, of: bed) { record in
            guard let one = record.value.flatMap({ try? ProgressRecord.decode($0, with: reader) }) else {
                return
            }
            let key = SendKey(app: one.key.app, send: one.send)
            switch one.part {
            case .planner: sends[key, default: Sums()].isPlanned = true
            case .lanes(let numbers, let tally):
                for number in numbers { sends[key, default: Sums()].lanes[number] = tally }
            }
        }
        records += try Self.each(.groups, of: bed) { record in
            let bytes = record.key ?? []
            guard let key = unsafe bytes.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }) else { return }
            groups[Name(app: key.app, name: key.group ?? "")] = record.value.flatMap {
                try? GroupRow.decode($0, with: reader)
            }
        }
        records += try Self.each(.installations, of: bed) { record in
            guard let parts = record.key.flatMap({ RecordKey.split($0) }) else { return }
            phones[Name(app: parts[0], name: String(parts[1].dropFirst(2)))] = record.value.flatMap {
                try? Installation.decode($0, with: reader)
            }
        }
        records += try Self.each(.timers, of: bed) { record in
            guard let parts = record.key.flatMap({ RecordKey.split($0) }) else { return }
            let owner = Name(app: parts[0], name: parts[1])
            if record.value == nil {
                timers[owner]?.remove(parts[2])
            } else {
                timers[owner, default: []].insert(parts[2])
            }
        }
        records += try Self.each(.audit, of: bed) { record in
            guard let one = record.value.flatMap({ try? AuditEntry.decode($0, with: reader) }) else { return }
            audit[one.app, default: []].append(one.at)
        }
    }

    /// - Returns: The number of records.
    private static func each(
        _ topic: TopicName, of bed: IngestBed, _ take: (ReadRecord) -> Void
    ) throws -> Int {
        var count = 0
        try TopicContent.each(of: topic, bed) {
            take(ReadRecord($0))
            count += 1
        }
        return count
    }

    private mutating func readReceipts(_ bed: IngestBed) throws {
        let reader = JSONReader()
        // A sheet of a day has fewer than 64 jobs.
        var done: [JobPosition: UInt64] = [:]
        records += try Self.each(.receipts, of: bed) { record in
            guard let receipt = record.value.flatMap({ try? Receipt.decode($0, with: reader) }) else {
                return
            }
            var lines: [(line: Int, outcome: ReceiptOutcome)] = []
            for part in receipt.parts { part.lines.forEachLine { lines.append(($0, part.outcome)) } }
            lines.sort { $0.line < $1.line }
            let named = (record.headers["to"] ?? "").split(separator: "\n").map {
                $0.split(separator: "\t").map(String.init)
            }
            let system = Dictionary(
                uniqueKeysWithValues: zip(lines.map(\.line), named).map {
                    ($0, $1.count > 3 ? $1[3] : "unknown")
                })
            for part in receipt.parts {
                guard part.outcome.isFinal else { continue }
                let key = SendKey(app: receipt.app, send: receipt.send)
                part.lines.forEachLine { line in
                    let bit = UInt64(1) << UInt64(line)
                    guard done[receipt.position, default: 0] & bit == 0 else { return }
                    done[receipt.position, default: 0] |= bit
                    sends[key, default: Sums()].end(part, receipt, on: system[line] ?? "unknown")
                }
                if sends[key]?.ends[receipt.environment] == nil {
                    sends[key, default: Sums()].ends[receipt.environment] = [:]
                }
            }
            for (place, parts) in zip(lines, named) {
                let user = Name(app: receipt.app, name: String(parts[2].dropFirst(2)))
                pushes[user, default: []].append(
                    Push(
                        at: receipt.writtenAt, send: receipt.send, outcome: place.outcome.rawValue,
                        installation: parts[0]))
            }
        }
    }

    private mutating func enter(_ event: Event) {
        let key = Count(
            app: event.app, hour: event.eventTime / 3_600_000, code: event.code.rawValue,
            type: event.attributesType, group: event.group)
        counts[key, default: 0] += 1
        let text = Self.text(of: event.code.rawValue, at: event.eventTime, on: event.installation ?? "")
        events[event.app, default: [:]][text, default: 0] += 1
        if let user = event.user { eventsOfUsers[Name(app: event.app, name: user), default: []].append(text) }
        if event.code == .tap, let group = event.group {
            taps[Name(app: event.app, name: group), default: []].append(event.eventTime)
        }
    }

    static func text(of code: String, at: Int64, on installation: String) -> String {
        "\(at) \(code) \(installation)"
    }

    func running(_ group: String, app: String) -> Int {
        phones.reduce(0) { sum, one in
            guard one.key.app == app else { return sum }
            return sum
                + one.value.activities.count {
                    $0.group?.value == group && $0.closing == nil && !$0.isExpired
                }
        }
    }
}

extension DayModel.Sums {
    mutating func end(_ part: Receipt.Part, _ receipt: Receipt, on system: String) {
        systems[system, default: [:]][part.outcome.rawValue, default: 0] += 1
        ends[receipt.environment, default: [:]][part.outcome.rawValue, default: 0] += 1
        if part.outcome == .rejected { reasons[part.reason ?? "none", default: 0] += 1 }
        if part.outcome == .accepted { latencies.append(max(0, receipt.writtenAt - receipt.acceptedAt)) }
    }
}
