import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import StageSupport
import Telemetry
import TokenSealing

/// An ingest stage that runs in the test's process, on the topics of a `TestBed`. A test must stop it.
final class Stage: Sendable {
    private static let stopMillisecondsMax = 15_000

    let service: IngestService
    private let environment: StageEnvironment
    let metrics = Metrics()
    private let failures = TracedLock<[String]>([])

    /// Starts a stage.
    ///
    /// - Parameters:
    ///   - directory: The directory for its state.
    ///   - stoppedStage: A stopped stage, whose slot the new one takes over: its data directory and its identity.
    ///   - change: Changes the settings.
    ///   - onStep: Called after each step of the stage, in its thread.
    init(
        _ bed: TestBed, directory: String, after stoppedStage: Stage? = nil, sealingKeys: SealingKeys? = nil,
        log: Log = .silent,
        _ change: (inout IngestSettings) -> Void = { _ in },
        clock: @escaping @Sendable () -> WallTime = { .now() },
        onStep: @escaping @Sendable (IngestStep, Metrics) -> Void = { _, _ in }
    ) async throws {
        var settings = IngestSettings()
        // Short, so that another stage takes over within the time of a test.
        settings.sessionMilliseconds = 6000
        change(&settings)
        let metrics = metrics
        environment =
            try stoppedStage?.environment ?? bed.environment(under: directory, sealingKeys: sealingKeys)
        service = IngestService(
            settings, in: environment, clock: clock, settleMilliseconds: 0,
            onStep: { onStep($0, metrics) })
        let failures = failures
        try await service.start(
            ServiceContext(log: log, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    /// The reasons for which the stage is not ready.
    var readinessProblems: [String] { service.readinessProblems }

    /// The error that ended the stage, or nil.
    var failure: String? { failures.withLock { $0.first } }

    func stop() async {
        await service.stop(by: Instant.now().advanced(byMilliseconds: Self.stopMillisecondsMax))
    }

    /// Returns the value of a metric, or 0 if it does not exist. The text is as Prometheus reads it:
    /// `name{label="value"}`.
    func metric(_ nameAndLabels: String) -> Double { metrics.value(nameAndLabels) }

    /// The number of reports that the stage has finished.
    var handledCount: Int { metrics.handledCount }
}

extension Metrics {
    /// Returns the value of a metric, or 0 if it does not exist. The text is as Prometheus reads it:
    /// `name{label="value"}`.
    func value(_ nameAndLabels: String) -> Double {
        let line = render().split(separator: "\n").first { $0.hasPrefix(nameAndLabels + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }

    /// The number of reports that the stage has finished.
    var handledCount: Int {
        ["merged", "unchanged", "rejected", "forwarded"].reduce(0) {
            $0 + Int(value("flotilla_ingest_records_total{outcome=\"\($1)\"}"))
        }
    }
}
