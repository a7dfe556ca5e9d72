import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import Lifecycle
import ProcessTesting
import StageSupport
import Telemetry
import TokenSealing

/// A running stage on a test bed, with a separate state directory.
final class Stage: Sendable {
    let service: IngestService
    private let environment: StageEnvironment
    let metrics = Metrics()
    private let failures = TracedLock<[String]>([])

    /// - Parameter before: The stage to restart, with the same slot.
    init(
        _ bed: TestBed, directory: String, after before: Stage? = nil, sealingKeys: SealingKeys? = nil,
        log: Log = .silent,
        _ change: (inout IngestSettings) -> Void = { _ in },
        clock: @escaping @Sendable () -> WallTime = { .now() },
        onStep: @escaping @Sendable (IngestStep, Metrics) -> Void = { _, _ in }
    ) async throws {
        var settings = IngestSettings()
        settings.sessionMilliseconds = 6000
        change(&settings)
        let metrics = metrics
        environment = try before?.environment ?? bed.environment(under: directory, sealingKeys: sealingKeys)
        service = IngestService(
            settings, in: environment, clock: clock, settleMilliseconds: 0,
            onStep: { onStep($0, metrics) })
        let failures = failures
        try await service.start(
            ServiceContext(log: log, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    /// The readiness problems of the stage.
    var obstacles: [String] { service.readinessProblems }

    var failure: String? { failures.withLock { $0.first } }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Returns the value of a metric by name and labels, as Prometheus reads it.
    func metric(_ name: String) -> Double { metrics.value(name) }

    /// The number of reports that the stage has finished.
    var handled: Int { metrics.handled }
}

extension Metrics {
    func value(_ name: String) -> Double {
        let line = render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }

    /// The number of reports that the stage has finished.
    var handled: Int {
        ["merged", "unchanged", "rejected", "forwarded"].reduce(0) {
            $0 + Int(value("flotilla_ingest_records_total{outcome=\"\($1)\"}"))
        }
    }
}
