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

/// The figures that insight must show about a day, for `DayChecker`. The model reads the topics and counts jobs, events
/// and rows one by one in dictionaries, without files and without summaries.
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

    /// The figures of one send.
    struct SendCounts {
        /// The counts by environment, then by outcome.
        var outcomes: [Environment: [String: Int]] = [:]
        var rejectionReasons: [String: Int] = [:]
        /// The counts by system, then by outcome.
        var outcomesBySystem: [String: [String: Int]] = [:]
        /// The times from the acceptance of the send to the answer of APNs, in milliseconds.
        var latencies: [Int64] = []
        /// The newest tally of each lane, by the lane's number.
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

    /// The events that are counted together.
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
    /// The number of events of each kind.
    var counts: [EventCountKey: Int] = [:]
    /// The times of taps in milliseconds since 1970, by group.
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

    /// The lines of each sheet that have a final outcome.
    private var finishedLines: [JobPosition: Set<Int>] = [:]
    private let reader = JSONReader()

    /// Reads the topics to their ends. Blocks.
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
            // No figure of a day needs the schedule of a send.
            case .schedule: break
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

    // MARK: Receipts

    /// The recipient of a job, from the header `to` of a receipt.
    private struct Addressee {
        let installation: String
        let user: String
        let system: String
    }

    private static let unknownSystem = "unknown"

    private mutating func readReceipts(in bed: TestBed) throws {
        recordCount += try Self.forEachRecord(of: .receipts, in: bed) { record in
            guard let receipt = record.value.flatMap({ try? Receipt.decode($0, with: reader) }) else {
                return
            }
            // If the receipt has addressees, then the first one belongs to the lowest line, and so on.
            var lines: [(line: Int, outcome: ReceiptOutcome)] = []
            for part in receipt.parts { part.lines.forEachLine { lines.append(($0, part.outcome)) } }
            lines.sort { $0.line < $1.line }
            let addressees = Self.addressees(inHeader: record.headers["to"] ?? "")
            let systems = Dictionary(
                uniqueKeysWithValues: zip(lines, addressees).map { ($0.line, $1.system) })
            countOutcomes(of: receipt, systems: systems)
            for (line, addressee) in zip(lines, addressees) {
                let user = AppScopedName(app: receipt.app, name: addressee.user)
                pushes[user, default: []].append(
                    Push(
                        at: receipt.writtenAt, send: receipt.send, outcome: line.outcome.rawValue,
                        installation: addressee.installation))
            }
        }
    }

    /// Parses a header with a line for each job: phone, row, user and system, with tabs. The system may be missing.
    private static func addressees(inHeader header: String) -> [Addressee] {
        header.split(separator: "\n").map { line in
            let fields = line.split(separator: "\t").map(String.init)
            return Addressee(
                installation: fields[0], user: String(fields[2].dropFirst("u:".count)),
                system: fields.count > 3 ? fields[3] : unknownSystem)
        }
    }

    /// Counts the final outcomes of a receipt.
    ///
    /// - Parameter systems: The system of each line, as far as it is known.
    private mutating func countOutcomes(of receipt: Receipt, systems: [Int: String]) {
        let key = SendKey(app: receipt.app, send: receipt.send)
        for part in receipt.parts where part.outcome.isFinal {
            part.lines.forEachLine { line in
                // Only the first final outcome of a job counts.
                guard finishedLines[receipt.position, default: []].insert(line).inserted else { return }
                sends[key, default: SendCounts()].record(
                    part, of: receipt, on: systems[line] ?? Self.unknownSystem)
            }
            // A report shows the environment also if all these jobs were counted before.
            if sends[key]?.outcomes[receipt.environment] == nil {
                sends[key, default: SendCounts()].outcomes[receipt.environment] = [:]
            }
        }
    }

    // MARK: Events

    private mutating func add(_ event: Event) {
        let hourMilliseconds: Int64 = 3_600_000
        let key = EventCountKey(
            app: event.app, hour: event.eventTime / hourMilliseconds, code: event.code.rawValue,
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

    /// Returns an event as `TIME CODE INSTALLATION`. The time is in milliseconds since 1970.
    static func text(of code: String, at: Int64, on installation: String) -> String {
        "\(at) \(code) \(installation)"
    }

    // MARK: Groups

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
