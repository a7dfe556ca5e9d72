internal import Gateway
internal import Kafka
internal import Lifecycle
internal import Replay
internal import Sends
internal import Settings
internal import Telemetry
internal import Topics

/// `--watch` of `flotilla send` and `flotilla cancel`: follows a send in the topics `progress` and `receipts`
/// until it is complete, and prints a line each time it changes.
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
            context: ServiceContext(log: .silent, metrics: Metrics()) { _ in }, threads: 1)
        self.id = id
        self.app = app
        isJSON = invocation.isJSON
    }

    /// Returns the send, or nil if the app has no such send.
    func findSend() async throws -> FoundSend? {
        guard let id = SendID(id, lanes: layout.lanes) else { return nil }
        let lookupResult: SendLookup.LookupResult = await withCheckedContinuation { done in
            let isAccepted = lookup.find(id, of: app, from: id.searchStart, for: app) {
                done.resume(returning: $0)
            }
            // A lookup that has too much to do refuses the call and does not call back.
            if !isAccepted { done.resume(returning: .unavailable) }
        }
        switch lookupResult {
        case .send(let send): return send
        case .notFound: return nil
        case .timedOut, .unavailable:
            throw CommandError(status: .unavailable, "cannot read the progress of the send; try again")
        }
    }

    /// Watches until the send is complete, and throws after ten minutes.
    func run() async throws {
        let deadline = Instant.now().advanced(byMilliseconds: Self.durationMillisecondsMax)
        var currentReader: OutcomeReader?
        var lastLine = ""
        while Instant.now() < deadline {
            if let progress = try await findSend()?.progress {
                let outcomeReader = currentReader ?? makeOutcomeReader(since: progress.acceptedAt)
                currentReader = outcomeReader
                // A complete send without jobs has no receipts.
                let mayHaveReceipts = progress.expanded > 0 || !progress.isComplete
                if mayHaveReceipts { try outcomeReader.readNewReceipts() }
                let output = SendWatchOutput(progress: progress, outcomes: outcomeReader.outcomes)
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
