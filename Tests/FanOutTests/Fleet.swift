import FanOut
import JSON
import LiveActivity
import ProcessTesting
import Registry
import Simulation
import Store
import Telemetry

/// The topics that fan-out reads and writes, one lane of them: what is committed.
struct VirtualLane {
    struct Record {
        var key: [UInt8]
        var value: [UInt8]?
    }

    var registry: [Record] = []
    var urgent: [[UInt8]] = []
    var usual: [[UInt8]] = []
    var starts: [(key: [UInt8], value: [UInt8])] = []
    /// The consumer group's offsets.
    var committed = (registry: 0, urgent: 0, usual: 0)

    var isDone: Bool {
        committed.registry == registry.count && committed.urgent == urgent.count
            && committed.usual == usual.count
    }
}

/// A job as a sender reads it from its sheet.
struct Job {
    var head: SheetHead
    var body: [UInt8]
    var token: String
    var installation: String
    var entry: String
    var recipient: String
}

/// A process that owns a lane: its files, which outlive it, and what it has in memory.
final class LaneOwner {
    let number: Int
    let directory: String
    private let registry: Lane
    private var expander: Expander<LaneRows>
    private let catalog: OneApp
    private var page = TokenPage()
    private var news = LaneNews()

    /// It takes the lane over where the group's offsets are, with whatever file it finds.
    init(
        _ number: Int, _ directory: String, _ lane: VirtualLane, jobsPerSheet: Int = 3,
        recipientsAtATime: Int = 1, catalog: OneApp = OneApp()
    ) throws {
        self.catalog = catalog
        self.number = number
        self.directory = directory
        registry = try Lane(
            directory, TopicPartition("registry", Int32(number)), origin: "here", ageMaxMilliseconds: .max,
            limits: Limits(mapBytesAtStart: 1 << 20), now: .now(), boot: BootID("boot"), log: .silent,
            metrics: LaneMetrics(Metrics()))
        registry.newsBegins = Int64(lane.committed.registry)
        if registry.applied == nil {
            let restore = LaneRestore(registry)
            for offset in 0..<lane.committed.registry {
                let record = lane.registry[offset]
                if let value = record.value {
                    try restore.hear(key: record.key.span, value: value.span, offset: Int64(offset))
                } else {
                    try restore.hear(key: record.key.span, value: nil, offset: Int64(offset))
                }
            }
            try restore.finish(Applied(offset: Int64(lane.committed.registry), asOf: .now()))
        }
        nextRegistry = Int(registry.start ?? 0)
        expander = Expander(
            lane: number, registry, LaneRows(replaying: lane.starts), catalog: catalog,
            isNew: lane.committed == (0, 0, 0), jobsPerSheet: jobsPerSheet,
            recipientsAtATime: recipientsAtATime)
    }

    /// Records of the registry that its file has: more than were committed, where a turn has failed.
    var registryRead: Int { Int(registry.applied ?? 0) }

    /// The next record of the registry to be read.
    private var nextRegistry: Int

    /// What one transaction does.
    struct Plan {
        /// How far the registry is read, above what was read.
        var registryUpTo: Int
        var isUrgent: Bool
        var expansions: Int
        var rowsMax: Int
    }

    /// What the transaction would commit.
    struct Outcome {
        var committed: (registry: Int, urgent: Int, usual: Int)
        var starts: [(key: [UInt8], value: [UInt8])]
        var urgent: [[UInt8]] = []
        var usual: [[UInt8]] = []
        var jobs: [Job] = []
        var sheets = 0
        var progress: [LiveActivity.Progress] = []
        var enquiries: [Enquiry] = []
    }

    func run(_ plan: Plan, on lane: VirtualLane, now: Int64) throws -> Outcome {
        expander.begin(at: now, atLatest: now, catalog: catalog)
        expander.table.written = []
        var committed = lane.committed
        while nextRegistry < plan.registryUpTo {
            let record = lane.registry[nextRegistry]
            if let value = record.value {
                try registry.hear(key: record.key.span, value: value.span, offset: Int64(nextRegistry))
            } else {
                try registry.hear(key: record.key.span, value: nil, offset: Int64(nextRegistry))
            }
            nextRegistry += 1
        }
        try registry.commit(Applied(offset: Int64(nextRegistry), asOf: .now()), tellingInto: &news)
        try expander.hear(news)
        committed.registry = max(committed.registry, nextRegistry)
        let topic = plan.isUrgent ? lane.urgent : lane.usual
        var next = plan.isUrgent ? committed.urgent : committed.usual
        for _ in 0..<plan.expansions where next < topic.count {
            switch try ExpansionRequest.decode(topic[next], with: JSONReader(limits: Expansion.limits)) {
            case .expansion(let expansion):
                _ = try expander.expand(
                    expansion, isUrgent: plan.isUrgent, rowsMax: plan.rowsMax, page: &page)
            case .stop(let stop): try expander.stop(stop)
            }
            next += 1
        }
        if plan.isUrgent { committed.urgent = next } else { committed.usual = next }
        return outcome(committed)
    }

    /// What the walk through all rows of `starts` does with those that are to be ended before the system does it.
    func endSafely(on lane: VirtualLane, now: Int64) throws -> Outcome {
        expander.begin(at: now, atLatest: now, catalog: catalog)
        expander.table.written = []
        let rows = Dictionary(lane.starts.map { ($0.key, $0.value) }) { $1 }
        for (bytes, value) in rows {
            guard let key = LedgerKey(bytes: bytes),
                SafetyEnd.isDue(try LedgerRow.decode(value, with: JSONReader()), at: now)
            else { continue }
            try expander.endSafely(key, page: &page)
        }
        return outcome(lane.committed)
    }

    private func outcome(_ committed: (registry: Int, urgent: Int, usual: Int)) -> Outcome {
        var outcome = Outcome(committed: committed, starts: expander.table.written)
        let output = expander.outputCopy
        for continuation in output.continuations {
            let bytes = continuation.expansion.encoded()
            if continuation.isUrgent { outcome.urgent.append(bytes) } else { outcome.usual.append(bytes) }
        }
        outcome.progress = output.progress
        outcome.enquiries = output.enquiries
        outcome.sheets = output.sheets.count
        for sheet in output.sheets {
            outcome.jobs += Self.jobs(of: sheet, output.heads[sheet.head], body: output.bodies[sheet.body])
        }
        return outcome
    }

    private static func jobs(of sheet: JobOutput.Sheet, _ head: JobOutput.Head, body: [UInt8]) -> [Job] {
        let read = surely { try SheetHead(apns: head.apns.span, flotilla: head.flotilla.span) }
        precondition(read == head.head, "a head reads back as it was written")
        var jobs: [Job] = []
        surely {
            try SheetJobs(sheet.lines.bytes.span).forEachJob { _, job in
                jobs.append(
                    Job(
                        head: read, body: body, token: text(job.token), installation: text(job.installation),
                        entry: text(job.entry), recipient: text(job.recipient)))
            }
        }
        return jobs
    }

    /// Its files stay.
    func close() throws { try registry.close() }
}

func text(_ span: Span<UInt8>) -> String {
    String(decoding: (0..<span.count).map { span[$0] }, as: UTF8.self)
}

extension Expander {
    /// What can be looked at when the turn is over.
    fileprivate var outputCopy: OutputCopy {
        OutputCopy(
            bodies: output.bodies, heads: output.heads, sheets: output.sheets,
            continuations: output.continuations, progress: output.progress, enquiries: output.enquiries)
    }
}

private struct OutputCopy {
    var bodies: [[UInt8]]
    var heads: [JobOutput.Head]
    var sheets: [JobOutput.Sheet]
    var continuations: [JobOutput.Continuation]
    var progress: [LiveActivity.Progress]
    var enquiries: [Enquiry]
}
