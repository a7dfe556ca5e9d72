internal import CatalogRecords
package import Identifiers
package import IngestTesting
package import InstallationRecords
internal import JSON
package import Jobs
internal import Kafka
package import Payloads
internal import RecordFormat
package import Sends
package import TokenSealing
internal import Topics

/// The surroundings of an expander in a test. It writes the rows of the registry and the expansions of a planner, and
/// reads the jobs and the progress that the expander writes.
package final class ExpanderTestBed {
    package static let app = TestBed.app.id
    /// The first version and generation of a test. Higher ones count from it.
    package static let firstVersion: Int64 = 1_763_600_000
    /// A day in November 2025, in milliseconds since 1970. The registrations and sends are of this day.
    private static let startMilliseconds: Int64 = 1_763_600_000_000
    /// Many thousand years ahead, in seconds since 1970.
    private static let farFutureSeconds: Int64 = 1 << 40

    private let bed: TestBed
    private let registryWriter: RecordWriter
    private let expansionWriter: RecordWriter
    private let startWriter: RecordWriter
    private var tokenCount = 0
    /// The number of closings, one for each lane of each expansion, and of those that were read. A lane closes an
    /// expansion by reporting its tally.
    private var expectedClosings = 0
    private var readClosings = 0
    private let progress: TopicFollower

    package init(on bed: TestBed) throws {
        self.bed = bed
        registryWriter = try RecordWriter(on: bed, to: .registry)
        expansionWriter = try RecordWriter(on: bed, to: .expansionsUrgent)
        startWriter = try RecordWriter(on: bed, to: .starts)
        progress = try TopicFollower(of: .progress, in: bed)
    }

    /// Writes a token row to its recipient's lane. Each call uses a new token.
    ///
    /// - Returns: The token.
    @discardableResult
    package func writeToken(
        of installation: String, entry: RegistryKey.Entry, group: String? = nil,
        sealedBy seal: TokenSeal? = nil
    ) -> String {
        tokenCount += 1
        let token = NumberedToken.hex(ofNumber: tokenCount)
        var storedToken = token
        if let seal, let pushToken = PushToken(hex: token) {
            storedToken = seal.seal(pushToken, app: Self.app, entry: entry.text)
        }
        let key = RegistryKey(
            app: Self.app, recipient: .installation(installation), installation: installation, entry: entry)
        let row = TokenRow(
            environment: .production, token: storedToken, tokenHash: token, attributesType: "Match",
            group: group, registeredAt: Self.startMilliseconds + Int64(tokenCount))
        registryWriter.write(key: key.bytes, value: row.encoded(), partition: lane(of: key.recipient))
        return token
    }

    package func lane(of recipient: Recipient) -> Int32 {
        Int32(
            Murmur2.partition(
                forKey: RegistryKey.partitionKey(app: Self.app, recipient: recipient).span,
                partitionCount: bed.layout.lanes))
    }

    /// Sends an expansion of a group to every lane. An expansion of one recipient goes only to its lane.
    package func write(_ expansion: Expansion) {
        guard case .recipients(let list) = expansion.targets, let first = list.first else {
            for lane in 0..<Int32(bed.layout.lanes) {
                expansionWriter.write(key: nil, value: expansion.encoded(), partition: lane)
            }
            expectedClosings += bed.layout.lanes
            return
        }
        expansionWriter.write(key: nil, value: expansion.encoded(), partition: lane(of: first.recipient))
        expectedClosings += 1
    }

    /// Writes a start of the group on the installation to the ledger.
    ///
    /// - Parameter time: Milliseconds since 1970.
    package func writeStart(of installation: String, in group: String, generation: Int64, at time: Int64) {
        let key = LedgerKey(
            app: Self.app, subject: .group(group), recipient: .installation(installation),
            generation: generation,
            installation: installation)
        let row = LedgerRow(version: generation, startedAt: time, type: "Match")
        startWriter.write(key: key.bytes, value: row.encoded(), partition: lane(of: key.recipient))
    }

    /// Writes bytes, which may be no expansion, to a lane.
    package func write(raw: [UInt8], lane: Int32) {
        expansionWriter.write(key: nil, value: raw, partition: lane)
    }

    /// Waits for all acknowledgements. Returns whether every record is stored.
    package func finish() -> Bool {
        registryWriter.finish() && expansionWriter.finish() && startWriter.finish()
    }

    /// Returns the number of closing records that are still missing, as far as they can be read now. Committed offsets
    /// cannot show this, because the continuations of an expansion lie behind the former ends of the lanes.
    package func missingClosings() -> Int {
        let reader = JSONReader()
        progress.readAvailable { record in
            guard
                let progress = try? ProgressRecord.decode(
                    [UInt8](copying: record.value) ?? [], with: reader),
                case .lanes(let lanes, _) = progress.part
            else { return }
            readClosings += lanes.count
        }
        return expectedClosings - readClosings
    }

    /// Returns whether all expansions are closed.
    package func isEverythingClosed() -> Bool { missingClosings() <= 0 }

    /// A job of a sheet, as a sender reads it.
    package struct Job {
        package let send: String
        package let event: PushEvent
        package let token: String
        /// The registry row of the token. A sealed token is bound to it.
        package let entry: String
        package let version: Int64
        package let body: String
    }

    /// Returns all committed jobs of both topics.
    package static func jobs(in bed: TestBed) throws -> [Job] {
        var jobs: [Job] = []
        try forEachSheet(in: bed) { head, sheet, body in
            let body = String(decoding: body, as: UTF8.self)
            sheet.forEachJob { _, job in
                let token = (0..<job.token.count).map { job.token[$0] }
                let entry = (0..<job.entry.count).map { job.entry[$0] }
                jobs.append(
                    Job(
                        send: head.send, event: head.event, token: String(decoding: token, as: UTF8.self),
                        entry: String(decoding: entry, as: UTF8.self), version: head.version, body: body))
            }
        }
        return jobs
    }

    /// Reads the sheets of both topics, one by one.
    ///
    /// - Parameter withAborted: Whether to include sheets of uncommitted transactions.
    package static func forEachSheet(
        in bed: TestBed, withAborted: Bool = false,
        do body: (SheetHead, borrowing SheetJobs, [UInt8]) throws -> Void
    ) throws {
        for topic in [TopicName.jobs, .jobsUrgent] {
            try TopicContent.forEachRecord(of: topic, in: bed, withAborted: withAborted) { record in
                let record = ReadRecord(record)
                let apnsFields = Array((record.headers["apns"] ?? "").utf8)
                let flotillaFields = Array((record.headers["flotilla"] ?? "").utf8)
                let jobLines = Array((record.headers["to"] ?? "").utf8)
                let head = try SheetHead(apns: apnsFields.span, flotilla: flotillaFields.span)
                try body(head, SheetJobs(parsing: jobLines.span), record.value ?? [])
            }
        }
    }

    /// Returns the tallies that lanes reported for a send.
    package static func tallies(of send: String, in bed: TestBed) throws -> [LaneTally] {
        let reader = JSONReader()
        return try TopicContent(of: .progress, in: bed).records.flatMap { record -> [LaneTally] in
            let progress = try ProgressRecord.decode(record.value ?? [], with: reader)
            guard progress.send == send, case .lanes(let lanes, let tally) = progress.part else { return [] }
            return Array(repeating: tally, count: lanes.count)
        }
    }

    /// Returns an expansion with a far deadline, so that no lane drops it for its age. Without a recipient it is for
    /// everyone if it is a start, and otherwise for the group.
    package static func makeExpansion(
        of event: PushEvent, group: String, send: String, version: Int64, generation: Int64 = 0,
        recipient: String? = nil
    ) -> Expansion {
        var content = PushContent(event)
        content.contentState = contentState(ofVersion: version)
        if event == .start {
            content.attributesType = "Match"
            content.alert = Alert(title: .plain("Kick-off"))
        }
        let targets: Expansion.Targets =
            if let recipient {
                .recipients([
                    Expansion.ScopedRecipient(
                        .installation(recipient), scope: .recipient, generation: generation, version: version)
                ])
            } else {
                event == .start ? .everyone : .group
            }
        var expansion = Expansion(
            send: send, key: ScopeKey(app: app, group: group), targets: targets, content: content,
            priority: .immediate, generation: generation, version: version, deadline: farFutureSeconds,
            expiration: farFutureSeconds, acceptedAt: startMilliseconds)
        expansion.isForOneRecipient = recipient != nil
        return expansion
    }

    private static func contentState(ofVersion version: Int64) -> RawJSON? {
        try? RawJSON(checking: Array("{\"goals\":\(version)}".utf8), with: JSONReader())
    }
}
