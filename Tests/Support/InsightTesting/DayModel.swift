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

/// The figures that insight must show about a day. The model reads the topics and counts jobs, events and rows one by
/// one in dictionaries, without files and without summaries.
package struct DayModel {
    struct SendKey: Hashable {
        var app: String
        var send: String
    }

    /// The id of a user, group or installation, within its app.
    struct AppScopedName: Hashable {
        var app: String
        var name: String
    }

    struct SendCounts {
        /// The counts by environment, then by outcome.
        var outcomes: [Environment: [String: Int]] = [:]
        var rejectionReasons: [String: Int] = [:]
        /// The counts by system, then by outcome.
        var outcomesBySystem: [String: [String: Int]] = [:]
        /// The times from the acceptance of the send to the answer of APNs, in milliseconds.
        var latencies: [Int64] = []
        /// The newest tally of each lane.
        var lanes: [Int: LaneTally] = [:]
        var isPlanned = false
    }

    /// An outcome of a job, as the history of a user shows it.
    struct Push: Hashable {
        /// In milliseconds since 1970.
        var at: Int64
        var send: String
        var outcome: String
        var installation: String
    }

    struct EventCountKey: Hashable {
        var app: String
        /// The hours since 1970.
        var hour: Int64
        var code: String
        var type: String?
        var group: String?
    }

    var sends: [SendKey: SendCounts] = [:]
    /// The pushes by user.
    var pushes: [AppScopedName: [Push]] = [:]
    /// The numbers of events.
    var counts: [EventCountKey: Int] = [:]
    /// The times of taps, by group.
    var taps: [AppScopedName: [Int64]] = [:]
    /// The events by user, as `text(of:at:on:)`.
    var eventsOfUsers: [AppScopedName: [String]] = [:]
    /// The number of each event by app, then by `text(of:at:on:)`.
    var events: [String: [String: Int]] = [:]
    var groups: [AppScopedName: GroupRow] = [:]
    var phones: [AppScopedName: Installation] = [:]
    /// The ids of timers by owner, such as `u:user-1`.
    var timers: [AppScopedName: Set<String>] = [:]
    /// The times of audit entries by app.
    var audit: [String: [Int64]] = [:]
    /// The number of records of all topics.
    private(set) var recordCount = 0

    private let reader = JSONReader()

    /// Reads the topics to their ends.
    package init(on bed: TestBed) throws {
        try readReceipts(in: bed)
        try readEvents(in: bed)
        try readProgress(in: bed)
        try readGroups(in: bed)
        try readInstallations(in: bed)
        try readTimers(in: bed)
        try readAudit(in: bed)
    }

    private mutating func readEvents(in bed: TestBed) throws {
        recordCount += try Self.forEachRecord(of: .events, in: bed) { record in
            guard let event = record.value.flatMap({ try? Event.decode($0, with: reader) }) else { return }
            add(event)
        }
    }

    private mutating func readProgress(in bed: TestBed) throws {
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
    }

    private mutating func readGroups(in bed: TestBed) throws {
        recordCount += try Self.forEachRecord(of: .groups, in: bed) { record in
            let bytes = record.key ?? []
            guard let key = unsafe bytes.withUnsafeBytes({ unsafe ScopeKey(bytes: $0) }) else { return }
            groups[AppScopedName(app: key.app, name: key.group ?? "")] = record.value.flatMap {
                try? GroupRow.decode($0, with: reader)
            }
        }
    }

    private mutating func readInstallations(in bed: TestBed) throws {
        recordCount += try Self.forEachRecord(of: .installations, in: bed) { record in
            // The key is APP/i:ID.
            guard let parts = record.key.flatMap({ RecordKey.split($0) }) else { return }
            let phone = AppScopedName(app: parts[0], name: String(parts[1].dropFirst("i:".count)))
            phones[phone] = record.value.flatMap { try? Installation.decode($0, with: reader) }
        }
    }

    private mutating func readTimers(in bed: TestBed) throws {
        recordCount += try Self.forEachRecord(of: .timers, in: bed) { record in
            // The key is APP/OWNER/ID.
            guard let parts = record.key.flatMap({ RecordKey.split($0) }) else { return }
            let owner = AppScopedName(app: parts[0], name: parts[1])
            if record.value == nil {
                timers[owner]?.remove(parts[2])
            } else {
                timers[owner, default: []].insert(parts[2])
            }
        }
    }

    private mutating func readAudit(in bed: TestBed) throws {
        recordCount += try Self.forEachRecord(of: .audit, in: bed) { record in
            guard let entry = record.value.flatMap({ try? AuditEntry.decode($0, with: reader) }) else {
                return
            }
            audit[entry.app, default: []].append(entry.at)
        }
    }

    /// Calls `body` with each record of a topic.
    ///
    /// - Returns: The number of records.
    private static func forEachRecord(
        of topic: TopicName, in bed: TestBed, do body: (ReadRecord) -> Void
    ) throws -> Int {
        var count = 0
        try TopicContent.forEachRecord(of: topic, in: bed) {
            body(ReadRecord($0))
            count += 1
        }
        return count
    }

    private mutating func readReceipts(in bed: TestBed) throws {
        // The lines that have a final outcome, a bit for each. A sheet of a day has fewer than 64 jobs.
        var finishedLines: [JobPosition: UInt64] = [:]
        recordCount += try Self.forEachRecord(of: .receipts, in: bed) { record in
            guard let receipt = record.value.flatMap({ try? Receipt.decode($0, with: reader) }) else {
                return
            }
            var lines: [(line: Int, outcome: ReceiptOutcome)] = []
            for part in receipt.parts { part.lines.forEachLine { lines.append(($0, part.outcome)) } }
            lines.sort { $0.line < $1.line }
            // A line of the header for each line of the receipt: phone, row, user, system.
            let addressees = (record.headers["to"] ?? "").split(separator: "\n").map {
                $0.split(separator: "\t").map(String.init)
            }
            let systems = Dictionary(
                uniqueKeysWithValues: zip(lines.map(\.line), addressees).map { line, fields in
                    (line, fields.count > 3 ? fields[3] : "unknown")
                })
            for part in receipt.parts {
                guard part.outcome.isFinal else { continue }
                let key = SendKey(app: receipt.app, send: receipt.send)
                part.lines.forEachLine { line in
                    // Only the first final outcome of a job counts.
                    let bit = UInt64(1) << UInt64(line)
                    guard finishedLines[receipt.position, default: 0] & bit == 0 else { return }
                    finishedLines[receipt.position, default: 0] |= bit
                    sends[key, default: SendCounts()].record(
                        part, of: receipt, on: systems[line] ?? "unknown")
                }
                if sends[key]?.outcomes[receipt.environment] == nil {
                    sends[key, default: SendCounts()].outcomes[receipt.environment] = [:]
                }
            }
            for (line, fields) in zip(lines, addressees) {
                let user = AppScopedName(app: receipt.app, name: String(fields[2].dropFirst("u:".count)))
                pushes[user, default: []].append(
                    Push(
                        at: receipt.writtenAt, send: receipt.send, outcome: line.outcome.rawValue,
                        installation: fields[0]))
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

    /// Returns an event as `TIME CODE INSTALLATION`.
    static func text(of code: String, at: Int64, on installation: String) -> String {
        "\(at) \(code) \(installation)"
    }

    /// Returns the number of activities that run in a group.
    func runningCount(ofGroup group: String, app: String) -> Int {
        phones.reduce(0) { sum, phone in
            guard phone.key.app == app else { return sum }
            let runningCount = phone.value.activities.count {
                $0.group?.value == group && $0.closing == nil && !$0.isExpired
            }
            return sum + runningCount
        }
    }
}

extension DayModel.SendCounts {
    /// Counts one job with the outcome of the part.
    mutating func record(_ part: Receipt.Part, of receipt: Receipt, on system: String) {
        outcomesBySystem[system, default: [:]][part.outcome.rawValue, default: 0] += 1
        outcomes[receipt.environment, default: [:]][part.outcome.rawValue, default: 0] += 1
        if part.outcome == .rejected { rejectionReasons[part.reason ?? "none", default: 0] += 1 }
        if part.outcome == .accepted { latencies.append(max(0, receipt.writtenAt - receipt.acceptedAt)) }
    }
}
