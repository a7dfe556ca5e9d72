internal import CatalogRecords
internal import Identifiers
package import IngestTesting
internal import InstallationRecords
internal import JSON
internal import Jobs
internal import Kafka
internal import RecordFormat
internal import Sends
internal import Topics

/// The content of a day's topics, counted with dictionaries of single jobs, events and rows.
package struct DayModel {
    struct SendKey: Hashable {
        var app: String
        var send: String
    }

    struct AppScopedName: Hashable {
        var app: String
        var name: String
    }

    struct SendCounts {
        var outcomes: [Environment: [String: Int]] = [:]
        var rejectionReasons: [String: Int] = [:]
        /// The counts by system, then by outcome.
        var outcomesBySystem: [String: [String: Int]] = [:]
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

    struct EventCountKey: Hashable {
        var app: String
        var hour: Int64
        var code: String
        var type: String?
        var group: String?
    }

    var sends: [SendKey: SendCounts] = [:]
    var pushes: [AppScopedName: [Push]] = [:]
    var counts: [EventCountKey: Int] = [:]
    /// The times of taps, by group.
    var taps: [AppScopedName: [Int64]] = [:]
    /// The events by user, as `time code installation`.
    var eventsOfUsers: [AppScopedName: [String]] = [:]
    /// The number of each event by app, in the same form.
    var events: [String: [String: Int]] = [:]
    var groups: [AppScopedName: GroupRow] = [:]
    var phones: [AppScopedName: Installation] = [:]
    var timers: [AppScopedName: Set<String>] = [:]
    var audit: [String: [Int64]] = [:]
    private(set) var recordCount = 0

    package init(on bed: TestBed) throws {
        try readReceipts(in: bed)
        let reader = JSONReader()
        recordCount += try Self.forEachRecord(of: .events, in: bed) { record in
            guard let event = record.value.flatMap({ try? Event.decode($0, with: reader) }) else { return }
            add(event)
        }
        recordCount += try Self.forEachRecord(of: .progress, in: bed) { record in
            guard let progress = record.value.flatMap({ try? ProgressRecord.decode($0, with: reader) }) else {
                return
            }
            let key = SendKey(app: progress.key.app, send: progress.send)
            switch progress.part {
            case .planner: sends[key, default: SendCounts()].isPlanned = true
            case .lanes(let numbers, let tally):
                for number in numbers { sends[key, default: SendCounts()].lanes[number] = tally }
            }
        }
        recordCount += try Self.forEachRecord(of: .groups, in: bed) { record in
            let bytes = record.key ?? []
            guard let key = unsafe bytes.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }) else { return }
            groups[AppScopedName(app: key.app, name: key.group ?? "")] = record.value.flatMap {
                try? GroupRow.decode($0, with: reader)
            }
        }
        recordCount += try Self.forEachRecord(of: .installations, in: bed) { record in
            guard let parts = record.key.flatMap({ RecordKey.split($0) }) else { return }
            phones[AppScopedName(app: parts[0], name: String(parts[1].dropFirst(2)))] = record.value.flatMap {
                try? Installation.decode($0, with: reader)
            }
        }
        recordCount += try Self.forEachRecord(of: .timers, in: bed) { record in
            guard let parts = record.key.flatMap({ RecordKey.split($0) }) else { return }
            let owner = AppScopedName(app: parts[0], name: parts[1])
            if record.value == nil {
                timers[owner]?.remove(parts[2])
            } else {
                timers[owner, default: []].insert(parts[2])
            }
        }
        recordCount += try Self.forEachRecord(of: .audit, in: bed) { record in
            guard let one = record.value.flatMap({ try? AuditEntry.decode($0, with: reader) }) else { return }
            audit[one.app, default: []].append(one.at)
        }
    }

    /// - Returns: The number of records.
    private static func forEachRecord(
        of topic: TopicName, in bed: TestBed, do take: (ReadRecord) -> Void
    ) throws -> Int {
        var count = 0
        try TopicContent.forEachRecord(of: topic, in: bed) {
            take(ReadRecord($0))
            count += 1
        }
        return count
    }

    private mutating func readReceipts(in bed: TestBed) throws {
        let reader = JSONReader()
        // A sheet of a day has fewer than 64 jobs.
        var finishedLines: [JobPosition: UInt64] = [:]
        recordCount += try Self.forEachRecord(of: .receipts, in: bed) { record in
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
                    guard finishedLines[receipt.position, default: 0] & bit == 0 else { return }
                    finishedLines[receipt.position, default: 0] |= bit
                    sends[key, default: SendCounts()].record(part, of: receipt, on: system[line] ?? "unknown")
                }
                if sends[key]?.outcomes[receipt.environment] == nil {
                    sends[key, default: SendCounts()].outcomes[receipt.environment] = [:]
                }
            }
            for (place, parts) in zip(lines, named) {
                let user = AppScopedName(app: receipt.app, name: String(parts[2].dropFirst(2)))
                pushes[user, default: []].append(
                    Push(
                        at: receipt.writtenAt, send: receipt.send, outcome: place.outcome.rawValue,
                        installation: parts[0]))
            }
        }
    }

    private mutating func add(_ event: Event) {
        let key = EventCountKey(
            app: event.app, hour: event.eventTime / 3_600_000, code: event.code.rawValue,
            type: event.attributesType, group: event.group)
        counts[key, default: 0] += 1
        let text = Self.text(of: event.code.rawValue, at: event.eventTime, on: event.installation ?? "")
        events[event.app, default: [:]][text, default: 0] += 1
        if let user = event.user {
            eventsOfUsers[AppScopedName(app: event.app, name: user), default: []].append(text)
        }
        if event.code == .tap, let group = event.group {
            taps[AppScopedName(app: event.app, name: group), default: []].append(event.eventTime)
        }
    }

    static func text(of code: String, at: Int64, on installation: String) -> String {
        "\(at) \(code) \(installation)"
    }

    func runningCount(ofGroup group: String, app: String) -> Int {
        phones.reduce(0) { sum, one in
            guard one.key.app == app else { return sum }
            return sum
                + one.value.activities.count {
                    $0.group?.value == group && $0.closing == nil && !$0.isExpired
                }
        }
    }
}

extension DayModel.SendCounts {
    mutating func record(_ part: Receipt.Part, of receipt: Receipt, on system: String) {
        outcomesBySystem[system, default: [:]][part.outcome.rawValue, default: 0] += 1
        outcomes[receipt.environment, default: [:]][part.outcome.rawValue, default: 0] += 1
        if part.outcome == .rejected { rejectionReasons[part.reason ?? "none", default: 0] += 1 }
        if part.outcome == .accepted { latencies.append(max(0, receipt.writtenAt - receipt.acceptedAt)) }
    }
}
