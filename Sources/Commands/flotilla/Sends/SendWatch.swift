internal import Gateway
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Replay
internal import Settings
internal import Telemetry
internal import Topics

/// A watch that follows a send in `progress` and `receipts` until it is complete.
struct SendWatch {
    private static let pauseMilliseconds = 300
    private static let millisecondsMax = 600_000

    private let lookup: SendLookup
    private let id: String
    private let app: String
    private let layout: TopicLayout
    private let kafka: KafkaSettings
    private let isJSON: Bool

    init(_ invocation: Invocation, id: String, app: String) throws {
        layout = TopicLayout(invocation.settings)
        kafka = invocation.settings[KafkaSettings.self]
        lookup = try SendLookup(
            cluster: Cluster(settings: kafka), layout: layout,
            context: ServiceContext(log: .silent, metrics: Metrics()) { _ in })
        (self.id, self.app) = (id, app)
        isJSON = invocation.options["--json"] != nil
    }

    func find() async throws -> SendProgress? {
        guard let id = SendID(id, lanes: layout.lanes) else { return nil }
        let found = await withCheckedContinuation { done in
            if !lookup.find(id, of: app, since: nil, then: { done.resume(returning: $0) }) {
                done.resume(returning: .unavailable)
            }
        }
        switch found {
        case .send(let progress): return progress
        case .notFound: return nil
        case .timedOut, .unavailable:
            throw Refusal(status: .unavailable, "cannot read the progress of the send; try again")
        }
    }

    func run() async throws {
        let limit = Instant.now().advanced(byMilliseconds: Self.millisecondsMax)
        var reader: OutcomeReader?
        var last = ""
        while Instant.now() < limit {
            if let progress = try await find() {
                let outcomes = reader ?? outcomes(since: progress.acceptedAt)
                reader = outcomes
                if progress.expanded > 0 || !progress.isComplete { try outcomes.readNewReceipts() }
                let report = SendReport(progress, outcomes.outcomes)
                let line = isJSON ? report.json : report.line
                if line != last { print(line) }
                last = line
                if report.isComplete { return }
            }
            try await Task.sleep(for: .milliseconds(Self.pauseMilliseconds))
        }
        throw Refusal(
            status: .unavailable,
            "the send is not complete after ten minutes; check `flotilla lag`, and try again later")
    }

    private func outcomes(since acceptedAt: Int64?) -> OutcomeReader {
        OutcomeReader(of: id, app: app, acceptedAt: acceptedAt ?? 0, settings: kafka, layout: layout)
    }
}
