import Ingest
import IngestTesting
import Kafka
import KafkaTesting
import Lifecycle
import LiveActivity
import ProcessTesting
import Telemetry

/// One running stage on a bed, with its state in a directory of its own.
final class Stage: Sendable {
    let service: IngestService
    let metrics = Metrics()
    private let failures = TracedLock<[String]>([])

    init(
        _ bed: IngestBed, directory: String,
        sealingKeys: SealingKeys? = nil, log: Log = .silent,
        _ change: (inout IngestSettings) -> Void = { _ in },
        clock: @escaping @Sendable () -> WallTime = { .now() },
        onStep: @escaping @Sendable (IngestStep, Metrics) -> Void = { _, _ in }
    ) async throws {
        var settings = IngestSettings()
        settings.sessionMilliseconds = 6000
        change(&settings)
        let (kafka, layout, identity) = (bed.settings, bed.layout, bed.identity)
        let metrics = metrics
        service = IngestService(
            settings,
            place: {
                IngestPlace(
                    kafka: kafka, layout: layout, identity: identity, stateDirectory: directory,
                    sealingKeys: sealingKeys, apps: { IngestBed.apps })
            }, clock: clock, onStep: { onStep($0, metrics) })
        let failures = failures
        try await service.start(
            ServiceContext(log: log, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    /// Why it is not ready.
    var obstacles: [String] { service.obstacles }

    var failure: String? { failures.withLock { $0.first } }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// The number behind a metric's name and labels, as Prometheus would read it.
    func metric(_ name: String) -> Double { metrics.value(name) }

    /// Reports that it is done with.
    var handled: Int { metrics.handled }
}

extension Metrics {
    func value(_ name: String) -> Double {
        let line = render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }

    /// Reports that it is done with.
    var handled: Int {
        ["merged", "unchanged", "rejected", "forwarded"].reduce(0) {
            $0 + Int(value("flotilla_ingest_records_total{outcome=\"\($1)\"}"))
        }
    }
}
