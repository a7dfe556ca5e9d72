import FanOut
import FanOutTesting
import IngestTesting
import KafkaTesting
import Lifecycle
import StageSupport
import Telemetry
import TokenSealing

/// A running expander on a test bed, with a separate state directory.
final class ExpanderStage: Sendable {
    let service: FanOutService
    let metrics = Metrics()
    private let environment: StageEnvironment
    private let failures = TracedLock<[String]>([])

    /// - Parameter before: The stage to restart, with the same slot.
    init(
        _ bed: TestBed, directory: String, after before: ExpanderStage? = nil,
        sealingKeys: SealingKeys? = nil, loops: [FanOutService.Loop] = [.expander],
        _ change: (inout FanOutSettings) -> Void = { _ in },
        clock: @escaping @Sendable () -> WallTime = { .now() },
        onStep: @escaping @Sendable (ExpanderStep) -> Void = { _ in }
    ) async throws {
        var settings = FanOutSettings()
        settings.sessionMilliseconds = 6000
        change(&settings)
        environment = try before?.environment ?? bed.environment(under: directory, sealingKeys: sealingKeys)
        service = FanOutService(
            settings, in: environment, loops: loops, clock: clock, settleMilliseconds: 0,
            onPlannerStep: { _ in },
            onExpanderStep: onStep)
        let failures = failures
        try await service.start(
            ServiceContext(log: .silent, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    var failure: String? { failures.withLock { $0.first } }
    var obstacles: [String] { service.readinessProblems }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Returns the value of a metric by name and labels, as Prometheus reads it.
    func metric(_ name: String) -> Double {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }
}

extension WallTime {
    static func now(plus milliseconds: Int64) -> WallTime {
        WallTime(milliseconds: WallTime.now().milliseconds + milliseconds)
    }
}
