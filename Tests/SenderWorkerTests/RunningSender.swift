import Foundation
import Identifiers
import Jobs
import Lifecycle
import ProcessTesting
import Sender
import StageSupport
import Telemetry
import TokenSealing

/// A sender stage that runs in this process, on the topics and the APNs of a `SenderStand`. A test must stop it. The
/// sender of a test that throws stops when the test forgets it.
final class RunningSender: Sendable {
    let service: SenderService
    private let metrics = Metrics()
    private let failures = TracedLock<[String]>([])
    private let logFile: FileHandle
    private let logPath: String
    private let logSink: LogSink

    /// Starts a sender.
    ///
    /// - Parameters:
    ///   - sealingKeys: The keys that open sealed tokens.
    ///   - change: Changes of the stand's settings.
    init(
        on stand: SenderStand, sealingKeys: SealingKeys? = nil,
        changing change: (inout SenderSettings) -> Void = { _ in }
    ) async throws {
        service = SenderService(
            stand.settings(change), in: try stand.environment(sealingKeys: sealingKeys))
        logPath = stand.directory.filePath(named: "log")
        guard FileManager.default.createFile(atPath: logPath, contents: nil),
            let logFile = FileHandle(forWritingAtPath: logPath)
        else { throw CocoaError(.fileWriteUnknown) }
        self.logFile = logFile
        logSink = LogSink(level: .info, format: .text, descriptor: logFile.fileDescriptor)
        let failures = failures
        try await service.start(
            ServiceContext(log: Log(component: "sender", sink: logSink), metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    /// A second stop does nothing.
    deinit { Task { [service] in await Self.stop(service) } }

    /// Stops the sender in order.
    func stop() async { await Self.stop(service) }

    private static func stop(_ service: SenderService) async {
        await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000))
    }

    /// The error that ended the stage, or nil while it works.
    var failure: String? { failures.withLock { $0.first } }

    /// The log so far.
    var log: String {
        logSink.flush(withinMilliseconds: 5_000)
        return (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? ""
    }

    // MARK: Metrics

    /// Returns the value of a metric, or 0 if it does not exist.
    ///
    /// - Parameter nameAndLabels: The metric as the text format writes it, such as `name{label="value"}`.
    func metric(_ nameAndLabels: String) -> Double {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(nameAndLabels + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }

    /// Returns the number of jobs for which this sender has stored this outcome.
    func jobCount(_ outcome: ReceiptOutcome) -> Int {
        Int(metric(#"flotilla_sender_records_total{outcome="\#(outcome.rawValue)"}"#))
    }

    /// The number of tokens that this sender has reported as dead. Their installations lose them.
    var deadTokenCount: Int { Int(metric("flotilla_sender_dead_tokens_total")) }

    /// Returns whether the pushes of an app pause in an environment.
    func isBreakerOpen(ofApp app: String, in environment: Environment) -> Bool {
        metric(
            #"flotilla_sender_breaker_open{app="\#(app)",environment="\#(environment.rawValue)"}"#) == 1
    }
}
