package import IngestTesting
internal import JSON
internal import Kafka
package import LiveActivity
internal import Topics

/// What a registry and a planner have written, for an expander to read, and what it must have made of that.
package final class ExpanderBed {
    package static let app = IngestBed.app.id

    private let bed: IngestBed
    private let registry: ReportSender
    private let urgent: ReportSender
    private let usual: ReportSender
    private var tokens = 0
    /// Closing records that there will be.
    private var closings = 0

    package init(_ bed: IngestBed) throws {
        self.bed = bed
        registry = try ReportSender(bed, to: .registry)
        urgent = try ReportSender(bed, to: .expansionsUrgent)
        usual = try ReportSender(bed, to: .expansions)
    }

    /// A token in its recipient's lane; nil takes the row away.
    ///
    /// - Returns: the token.
    @discardableResult
    package func report(_ installation: String, _ entry: RegistryKey.Entry, group: String? = nil) -> String {
        tokens += 1
        let digits = String(tokens, radix: 16)
        let token = String(repeating: "0", count: 32 - digits.count) + digits
        let key = RegistryKey(
            app: Self.app, recipient: .installation(installation), installation: installation, entry: entry)
        let row = TokenRow(
            environment: .production, token: token, tokenHash: token, attributesType: "Match", group: group,
            registeredAt: 1_763_600_000_000 + Int64(tokens))
        registry.send(key: key.bytes, value: row.encoded(), partition: lane(of: key.recipient))
        return token
    }

    package func lane(of recipient: Recipient) -> Int32 {
        Int32(
            Murmur2.partition(
                of: RegistryKey.lane(app: Self.app, recipient: recipient).span, of: bed.layout.lanes))
    }

    /// To all of a group, in every lane; one recipient's goes to its own alone.
    package func expand(_ expansion: Expansion) {
        guard case .recipients(let list) = expansion.targets, let first = list.first else {
            for lane in 0..<Int32(bed.layout.lanes) {
                usual.send(key: nil, value: expansion.encoded(), partition: lane)
            }
            closings += bed.layout.lanes
            return
        }
        urgent.send(key: nil, value: expansion.encoded(), partition: lane(of: first.recipient))
        closings += 1
    }

    package func send(raw: [UInt8], lane: Int32) { usual.send(key: nil, value: raw, partition: lane) }

    package func finish() -> Bool { registry.finish() && urgent.finish() && usual.finish() }

    /// Whether everything is done that was asked for. What is left of an expansion lies behind the ends that the
    /// lanes were at, so these say nothing.
    package func isDone() -> Bool {
        guard let records = try? TopicContent(.progress, bed).records else { return false }
        return records.count >= closings
    }

    /// A sheet's jobs, as a sender reads them.
    package struct Job {
        package let send: String
        package let event: PushEvent
        package let token: String
        package let version: Int64
        package let body: String
    }

    /// All jobs of both topics that were committed.
    package static func jobs(in bed: IngestBed) throws -> [Job] {
        var jobs: [Job] = []
        for topic in [TopicName.jobs, .jobsUrgent] {
            for record in try TopicContent(topic, bed).records {
                let apns = Array((record.headers["apns"] ?? "").utf8)
                let flotilla = Array((record.headers["flotilla"] ?? "").utf8)
                let to = Array((record.headers["to"] ?? "").utf8)
                let head = try SheetHead(apns: apns.span, flotilla: flotilla.span)
                let body = String(decoding: record.value ?? [], as: UTF8.self)
                try SheetJobs(to.span).forEachJob { _, job in
                    let token = (0..<job.token.count).map { job.token[$0] }
                    jobs.append(
                        Job(
                            send: head.send, event: head.event, token: String(decoding: token, as: UTF8.self),
                            version: head.version, body: body))
                }
            }
        }
        return jobs
    }

    /// What lanes said of their parts of a send.
    package static func tallies(of send: String, in bed: IngestBed) throws -> [LaneTally] {
        let reader = JSONReader()
        return try TopicContent(.progress, bed).records.compactMap { record in
            let progress = try Progress.decode(record.value ?? [], with: reader)
            guard progress.send == send, case .lane(_, let tally) = progress.part else { return nil }
            return tally
        }
    }

    /// An expansion of seconds since a day of 2025, which nobody drops for its age.
    package static func expansion(
        _ event: PushEvent, of group: String, send: String, version: Int64, generation: Int64 = 0,
        to recipient: String? = nil
    ) -> Expansion {
        var content = PushContent(event)
        content.contentState = rawState(version)
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
        return Expansion(
            send: send, key: GroupKey(app: app, group: group), targets: targets, content: content,
            priority: 10, generation: generation, version: version, deadline: 1 << 40, expiration: 1 << 40,
            acceptedAt: 1_763_600_000_000)
    }

    private static func rawState(_ version: Int64) -> RawJSON? {
        try? RawJSON(checking: Array("{\"goals\":\(version)}".utf8), with: JSONReader())
    }
}
