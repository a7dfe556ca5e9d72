internal import Gateway
internal import Kafka
internal import Lifecycle
internal import Replay
internal import Sends
internal import Settings
internal import Telemetry
internal import Topics

/// A watch that follows a send in `progress` and `receipts` until it is complete.
struct SendWatch {
    private static let pollMilliseconds = 300
    private static let durationMillisecondsMax = 600_000

    private let lookup: SendLookup
    private let id: String
    private let app: String
    private let layout: TopicLayout
    private let kafka: KafkaSettings
    private let isJSON: Bool

    init(for invocation: Invocation, id: String, app: String) throws {
        layout = TopicLayout(settings: invocation.settings)
        kafka = invocation.settings[KafkaSettings.self]
        lookup = try SendLookup(
            cluster: Cluster(settings: kafka), layout: layout,
            context: ServiceContext(log: .silent, metrics: Metrics()) { _ in })
        (self.id, self.app) = (id, app)
        isJSON = invocation.options["--json"] != nil
    }

    func findSend() async throws -> FoundSend? {
        guard let id = SendID(id, lanes: layout.lanes) else { return nil }
        let found = await withCheckedContinuation { done in
            if !lookup.find(id, of: app, since: nil, then: { done.resume(returning: $0) }) {
                done.resume(returning: .unavailable)
            }
        }
        switch found {
        case .send(let send): return send
        case .notFound: return nil
        case .timedOut, .unavailable:
            throw CommandError(status: .unavailable, "cannot read the progress of the send; try again")
        }
    }

    func run() async throws {
        let limit = Instant.now().advanced(byMilliseconds: Self.durationMillisecondsMax)
        var reader: OutcomeReader?
        var lastLine = ""
        while Instant.now() < limit {
            if let progress = try await findSend()?.progress {
                let outcomes = reader ?? makeOutcomeReader(since: progress.acceptedAt)
                reader = outcomes
                if progress.expanded > 0 || !progress.isComplete { try outcomes.readNewReceipts() }
                let output = SendWatchOutput(progress: progress, outcomes: outcomes.outcomes)
                let line = isJSON ? output.json : output.line
                if line != lastLine { print(line) }
                lastLine = line
                if output.isComplete { return }
            }
            try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
        throw CommandError(
            status: .unavailable,
            "the send is not complete after ten minutes; check `flotilla lag`, and try again later")
    }

    private func makeOutcomeReader(since acceptedAt: Int64?) -> OutcomeReader {
        OutcomeReader(of: id, app: app, acceptedAt: acceptedAt ?? 0, settings: kafka, layout: layout)
    }
}
