import CatalogRecords
import Identifiers
import IngestTesting
import JSON
import Kafka
import Lifecycle
import RecordFormat
import Scheduler
import Schedules
import Sends
import StageSupport
import Telemetry
import Topics

/// A scheduler stage that runs in the test's process, on the topics of a `TestBed`. A test must stop it. The extensions
/// below read what it wrote, and write commands for it.
final class SchedulerStage: Sendable {
    let service: SchedulerService
    private let environment: StageEnvironment
    let metrics = Metrics()
    private let failures = TracedLock<[String]>([])

    /// - Parameters:
    ///   - directory: The directory for its state.
    ///   - stoppedStage: A stopped stage, whose slot the new one takes over: its data directory and its identity.
    init(
        _ bed: TestBed, directory: String, after stoppedStage: SchedulerStage? = nil,
        clock: @escaping @Sendable () -> WallTime = { .now() },
        _ change: (inout SchedulerSettings) -> Void = { _ in }
    ) async throws {
        var settings = SchedulerSettings()
        settings.sessionMilliseconds = 6000
        change(&settings)
        environment = try stoppedStage?.environment ?? bed.environment(under: directory)
        service = SchedulerService(settings, in: environment, clock: clock) { _ in }
        let failures = failures
        try await service.start(
            ServiceContext(log: .silent, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    /// The reasons for which the stage is not ready.
    var readinessProblems: [String] { service.readinessProblems }
    /// The error that ended the stage, or nil.
    var failure: String? { failures.withLock { $0.first } }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Returns the value of a metric, or 0 if it does not exist. The text is as Prometheus reads it:
    /// `name{label="value"}`.
    func metric(_ nameAndLabels: String) -> Int {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(nameAndLabels + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") }.map { Int($0) } ?? 0
    }

    /// The number of timers that fired.
    var firedCount: Int { metric("flotilla_scheduler_fired_total") }
}

extension TestBed {
    /// Returns the scheduler's replies by request.
    func replies() throws -> [String: GatewayReply.Outcome] {
        let reader = JSONReader()
        var replies: [String: GatewayReply.Outcome] = [:]
        for record in try TopicContent(of: .replies, in: self).records {
            let reply = try GatewayReply.decode(record.value ?? [], with: reader)
            replies[reply.request] = reply.outcome
        }
        return replies
    }

    /// Returns the sends in `sends.timed`.
    func timedSends() throws -> [Send] {
        let reader = JSONReader()
        return try TopicContent(of: .sendsTimed, in: self).records.map {
            try Send.decode($0.value ?? [], with: reader)
        }
    }

    /// Returns the planner's verdicts in `progress` by the id of the send. The verdicts of a send are in their order.
    func verdicts() throws -> [String: [ProgressRecord.PlannerVerdict]] {
        let reader = JSONReader()
        var verdicts: [String: [ProgressRecord.PlannerVerdict]] = [:]
        for record in try TopicContent(of: .progress, in: self).records {
            let progress = try ProgressRecord.decode(record.value ?? [], with: reader)
            if case .planner(let part) = progress.part {
                verdicts[progress.send, default: []].append(part.verdict)
            }
        }
        return verdicts
    }
}

extension RecordWriter {
    /// Writes a command of a user.
    ///
    /// - Parameter request: The id of the request, by which the test finds the reply.
    func send(_ action: ScheduleCommand.Action, user: String = "ben", request: String? = nil) {
        let command = ScheduleCommand(
            action, app: TestBed.app.id, owner: .recipient(.user(user)),
            replyTo: request.map { .init(partition: 0, request: $0) }, acceptedAt: WallTime.now().milliseconds
        )
        write(key: command.key, value: command.encoded())
    }
}
