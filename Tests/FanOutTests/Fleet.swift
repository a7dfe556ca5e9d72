import FanOut
import JSON
import Jobs
import Kafka
import Lifecycle
import ProcessTesting
import RecordFormat
import Registry
import Sends
import Simulation
import Store
import Telemetry

/// One lane of the topics that fan-out reads and writes, with all committed records.
struct VirtualLane {
    struct Record {
        var key: [UInt8]
        var value: [UInt8]?
    }

    var registry: [Record] = []
    /// The planner's records, and the rests of walks.
    var arrivals: [[UInt8]] = []
    var walks: [[UInt8]] = []
    var starts: [(key: [UInt8], value: [UInt8])] = []
    /// The offsets of the consumer group.
    var committed = (registry: 0, arrivals: 0, walks: 0)

    var isDone: Bool {
        committed.registry == registry.count && committed.arrivals == arrivals.count
            && committed.walks == walks.count
    }
}

/// A job, as a sender reads it from a sheet.
struct Job {
    var head: SheetHead
    var body: [UInt8]
    var token: String
    var installation: String
    var entry: String
    var recipient: String
    var isUnproven: Bool
    /// Whether it goes before the jobs of sends to many.
    var isUrgent: Bool
}

/// A process that owns a lane. It has the lane's files, which outlive it, and a state in memory.
final class LaneOwner {
    let number: Int
    let directory: String
    private let registry: Lane
    private var expander: Expander<LaneRows>
    private let catalog: OneApp
    private var page = TokenPage()
    private var changes = LaneChanges()

    /// Takes the lane over at the group's offsets, with the files that exist.
    init(
        lane number: Int, directory: String, topics lane: VirtualLane, jobsPerSheet: Int = 3,
        recipientsAtATime: Int = 1, catalog: OneApp = OneApp()
    ) throws {
        self.catalog = catalog
        self.number = number
        self.directory = directory
        registry = try Lane(
            directory: directory, partition: TopicPartition("registry", Int32(number)), origin: "here",
            ageMaxMilliseconds: .max,
            limits: EnvironmentLimits(mapBytesAtStart: 1 << 20), now: .now(), boot: BootID("boot"),
            log: .silent,
            metrics: LaneMetrics(Metrics()))
        registry.changesReportedFrom = Int64(lane.committed.registry)
        if registry.appliedOffset == nil {
            let restore = LaneRestore(lane: registry)
            for offset in 0..<lane.committed.registry {
                let record = lane.registry[offset]
                if let value = record.value {
                    try restore.add(key: record.key.span, value: value.span, offset: Int64(offset))
                } else {
                    try restore.add(key: record.key.span, value: nil, offset: Int64(offset))
                }
            }
            try restore.finish(AppliedProgress(offset: Int64(lane.committed.registry), completeUntil: .now()))
        }
        nextRegistry = Int(registry.resumeOffset ?? 0)
        expander = Expander(
            lane: number, registry, LaneRows(replaying: lane.starts), catalog: catalog,
            jobsPerSheet: jobsPerSheet,
            recipientsAtATime: recipientsAtATime)
    }

    /// The number of registry records in the file. It exceeds the committed number after a failed
    /// transaction.
    var registryRead: Int { Int(registry.appliedOffset ?? 0) }

    /// The offset of the next registry record to read.
    private var nextRegistry: Int

    /// The work of one transaction.
    struct Plan {
        /// The registry offset up to which to read.
        var registryUpTo: Int
        /// Whether the transaction takes arrivals. Otherwise it takes walks.
        var takesArrivals: Bool
        var expansions: Int
        var rowsMax: Int
    }

    /// The records and offsets that the transaction would commit.
    struct Outcome {
        var committed: (registry: Int, arrivals: Int, walks: Int)
        var starts: [(key: [UInt8], value: [UInt8])]
        var walks: [[UInt8]] = []
        var jobs: [Job] = []
        var sheets = 0
        var progress: [ProgressRecord] = []
        var subscriptions: [Subscription] = []
    }

    func run(_ plan: Plan, on lane: VirtualLane, now: Int64) throws -> Outcome {
        expander.begin(at: now, atLatest: now, catalog: catalog)
        expander.table.written = []
        var committed = lane.committed
        while nextRegistry < plan.registryUpTo {
            let record = lane.registry[nextRegistry]
            if let value = record.value {
                try registry.apply(key: record.key.span, value: value.span, offset: Int64(nextRegistry))
            } else {
                try registry.apply(key: record.key.span, value: nil, offset: Int64(nextRegistry))
            }
            nextRegistry += 1
        }
        try registry.commit(
            AppliedProgress(offset: Int64(nextRegistry), completeUntil: .now()),
            reportingChangesInto: &changes)
        try expander.catchUp(with: changes)
        committed.registry = max(committed.registry, nextRegistry)
        let topic = plan.takesArrivals ? lane.arrivals : lane.walks
        var next = plan.takesArrivals ? committed.arrivals : committed.walks
        for _ in 0..<plan.expansions where next < topic.count {
            switch try ExpansionRequest.decode(topic[next], with: JSONReader(limits: Expansion.limits)) {
            case .expansion(let expansion):
                _ = try expander.expand(expansion, rowsMax: plan.rowsMax, page: &page)
            case .stop(let stop): try expander.stop(stop)
            case .subscriptionAnswer(let answer): try expander.apply(answer)
            }
            next += 1
        }
        if plan.takesArrivals { committed.arrivals = next } else { committed.walks = next }
        return outcome(committed)
    }

    /// Runs the pass through all rows of `starts` that sends safety ENDs.
    func sendSafetyEnds(on lane: VirtualLane, now: Int64) throws -> Outcome {
        expander.begin(at: now, atLatest: now, catalog: catalog)
        expander.table.written = []
        let rows = Dictionary(lane.starts.map { ($0.key, $0.value) }) { $1 }
        for (bytes, value) in rows {
            guard let key = LedgerKey(bytes: bytes),
                SafetyEnd.isDue(try LedgerRow.decode(value, with: JSONReader()), at: now)
            else { continue }
            try expander.addSafetyEnd(for: key, page: &page)
        }
        return outcome(lane.committed)
    }

    /// Looks through the groups of the lane's phones after an assignment.
    func subscribe(to groups: [String], on lane: VirtualLane, now: Int64) throws -> Outcome {
        expander.begin(at: now, atLatest: now, catalog: catalog)
        expander.table.written = []
        for group in groups { try expander.subscribe(to: group, of: "shop") }
        return outcome(lane.committed)
    }

    private func outcome(_ committed: (registry: Int, arrivals: Int, walks: Int)) -> Outcome {
        var outcome = Outcome(committed: committed, starts: expander.table.written)
        let output = expander.outputCopy
        outcome.walks = output.continuations.map { $0.encoded() }
        outcome.progress = output.progress
        outcome.subscriptions = output.subscriptions
        outcome.sheets = output.sheets.count
        for sheet in output.sheets {
            outcome.jobs += Self.jobs(of: sheet, output.heads[sheet.head], body: output.bodies[sheet.body])
        }
        return outcome
    }

    private static func jobs(of sheet: JobOutput.Sheet, _ head: JobOutput.Head, body: [UInt8]) -> [Job] {
        let read = surely { try SheetHead(apns: head.apns.span, flotilla: head.flotilla.span) }
        precondition(read == head.head, "a head reads back unchanged")
        var jobs: [Job] = []
        surely {
            try SheetJobs(parsing: sheet.lines.bytes.span).forEachJob { line, job in
                jobs.append(
                    Job(
                        head: read, body: body, token: text(job.token), installation: text(job.installation),
                        entry: text(job.entry), recipient: text(job.recipient),
                        isUnproven: sheet.unprovenLines.contains(line), isUrgent: sheet.isUrgent))
            }
        }
        return jobs
    }

    /// Closes the lane. Its files stay.
    func close() throws { try registry.close() }
}

func text(_ span: Span<UInt8>) -> String {
    String(decoding: (0..<span.count).map { span[$0] }, as: UTF8.self)
}

extension Expander {
    /// A copy of the output for inspection after the transaction.
    fileprivate var outputCopy: OutputCopy {
        OutputCopy(
            bodies: output.bodies, heads: output.heads, sheets: output.sheets,
            continuations: output.continuations, progress: output.progress,
            subscriptions: output.subscriptions)
    }
}

private struct OutputCopy {
    var bodies: [[UInt8]]
    var heads: [JobOutput.Head]
    var sheets: [JobOutput.Sheet]
    var continuations: [Expansion]
    var progress: [ProgressRecord]
    var subscriptions: [Subscription]
}
