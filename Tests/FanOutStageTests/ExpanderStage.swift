import FanOut
import FanOutTesting
import IngestTesting
import KafkaTesting
import Lifecycle
import StageSupport
import Telemetry
import TokenSealing

/// An expander stage that runs in the test's process.
final class ExpanderStage: Sendable {
    let service: FanOutService
    let metrics = Metrics()
    private let environment: StageEnvironment
    private let failures = TracedLock<[String]>([])

    /// - Parameters:
    ///   - directory: The directory for its state.
    ///   - stoppedStage: A stage whose slot and state the new one takes over.
    init(
        _ bed: TestBed, directory: String, after stoppedStage: ExpanderStage? = nil,
        sealingKeys: SealingKeys? = nil, loops: [FanOutService.Loop] = [.expander],
        _ change: (inout FanOutSettings) -> Void = { _ in },
        clock: @escaping @Sendable () -> WallTime = { .now() },
        onStep: @escaping @Sendable (ExpanderStep) -> Void = { _ in }
    ) async throws {
        var settings = FanOutSettings()
        settings.sessionMilliseconds = 6000
        change(&settings)
        environment =
            try stoppedStage?.environment ?? bed.environment(under: directory, sealingKeys: sealingKeys)
        service = FanOutService(
            settings, in: environment, loops: loops, clock: clock, settleMilliseconds: 0,
            onPlannerStep: { _ in }, onExpanderStep: onStep)
        let failures = failures
        try await service.start(
            ServiceContext(log: .silent, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    /// The error that ended the stage, or nil.
    var failure: String? { failures.withLock { $0.first } }
    /// The reasons for which the stage is not ready.
    var readinessProblems: [String] { service.readinessProblems }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Returns the value of a metric by name and labels, as Prometheus reads it, or 0 if it does not exist.
    func metric(_ name: String) -> Double {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }
}

extension WallTime {
    /// Returns the machine's time with an error.
    static func now(plus milliseconds: Int64) -> WallTime {
        WallTime(milliseconds: WallTime.now().milliseconds + milliseconds)
    }
}
