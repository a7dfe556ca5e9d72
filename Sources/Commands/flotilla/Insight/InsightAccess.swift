internal import Gateway
internal import HTTPClient
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Members
internal import Settings
internal import Telemetry
internal import Topics

/// The insight stage as a command asks it: through its processes, which it finds in `members`, without an API key.
struct InsightAccess {
    /// The limit of the time in which a running process is found and answers.
    private static let waitMilliseconds = 10_000
    private static let pollMilliseconds = 100
    private static let okStatus = 200
    private static let unknownStatus = 404
    private static let refusedStatuses = 400..<500

    private let settings: ResolvedSettings

    init(settings: ResolvedSettings) { self.settings = settings }

    /// Returns the answer, a JSON object. Without an answer it throws the reason that the stage gives.
    func answer(_ query: InsightQuery) async throws -> [UInt8] {
        let context = ServiceContext(log: .silent, metrics: Metrics()) { _ in }
        let relay = try InsightRelay(
            cluster: Cluster(settings: settings[KafkaSettings.self]), layout: TopicLayout(settings: settings),
            context: context)
        defer { relay.stop() }
        let deadline = Instant.now().advanced(byMilliseconds: Self.waitMilliseconds)
        while Instant.now() < deadline {
            if let answer = await Self.ask(query, relay: relay), let body = answer.body {
                return try Self.body(body, ifStatusIsGood: answer.status)
            }
            // No process is known until the relay has read `members` to its end.
            try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
        throw CommandError(
            status: .unavailable,
            "no process of the insight stage answers; check that `flotilla run insight` or `flotilla up` is running, and kafka.brokers"
        )
    }

    private static func ask(_ query: InsightQuery, relay: InsightRelay) async -> HTTPClientResponse? {
        await withCheckedContinuation { done in
            let admission = relay.ask(query) { done.resume(returning: $0) }
            // The relay calls back only about a query that it has asked.
            if admission != .asked { done.resume(returning: nil) }
        }
    }

    /// Returns the body of a good answer, or throws the reason in the body of another one.
    private static func body(_ body: [UInt8], ifStatusIsGood status: Int) throws -> [UInt8] {
        if status == okStatus { return body }
        let message = try? JSONReader().read(body) { root in
            let error = root.object()["error"].object()
            let field = error["field"].optional?.string()
            return (field.map { "\($0) " } ?? "") + error["message"].string()
        }
        let exitStatus: ExitStatus =
            switch status {
            case unknownStatus: .noInput
            case refusedStatuses: .usage
            default: .unavailable
            }
        throw CommandError(status: exitStatus, message ?? "the insight stage answered with status \(status)")
    }
}
