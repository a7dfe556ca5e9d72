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

/// A running scheduler on a test bed, with a separate state directory.
final class SchedulerStage: Sendable {
    let service: SchedulerService
    private let environment: StageEnvironment
    let metrics = Metrics()
    private let failures = TracedLock<[String]>([])

    /// - Parameter before: The stage to restart, with the same slot.
    init(
        _ bed: TestBed, directory: String, after before: SchedulerStage? = nil,
        clock: @escaping @Sendable () -> WallTime = { .now() },
        _ change: (inout SchedulerSettings) -> Void = { _ in }
    ) async throws {
        var settings = SchedulerSettings()
        settings.sessionMilliseconds = 6000
        change(&settings)
        environment = try before?.environment ?? bed.environment(under: directory)
        service = SchedulerService(settings, in: environment, clock: clock) { _ in }
        let failures = failures
        try await service.start(
            ServiceContext(log: .silent, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    var obstacles: [String] { service.readinessProblems }
    var failure: String? { failures.withLock { $0.first } }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Returns the value of a metric by name and labels, as Prometheus reads it.
    func metric(_ name: String) -> Int {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") }.map { Int($0) } ?? 0
    }

    var fired: Int { metric("flotilla_scheduler_fired_total") }
}

extension TestBed {
    /// Returns the answers by request.
    func answers() throws -> [String: ScheduleReply.Outcome] {
        let reader = JSONReader()
        var answers: [String: ScheduleReply.Outcome] = [:]
        for record in try TopicContent(of: .replies, in: self).records {
            let reply = try ScheduleReply.decode(record.value ?? [], with: reader)
            answers[reply.request] = reply.outcome
        }
        return answers
    }

    /// Returns the sends in `sends.timed`.
    func timedSends() throws -> [Send] {
        let reader = JSONReader()
        return try TopicContent(of: .sendsTimed, in: self).records.map {
            try Send.decode($0.value ?? [], with: reader)
        }
    }

    func verdicts() throws -> [String: [ProgressRecord.PlannerVerdict]] {
        let reader = JSONReader()
        var said: [String: [ProgressRecord.PlannerVerdict]] = [:]
        for record in try TopicContent(of: .progress, in: self).records {
            let progress = try ProgressRecord.decode(record.value ?? [], with: reader)
            if case .planner(let part) = progress.part {
                said[progress.send, default: []].append(part.verdict)
            }
        }
        return said
    }
}

extension RecordWriter {
    /// - Parameter request: The id of the request, by which the test finds the answer.
    func send(_ wish: ScheduleCommand.Action, user: String = "ben", request: String? = nil) {
        let order = ScheduleCommand(
            wish, app: TestBed.app.id, owner: .recipient(.user(user)),
            replyTo: request.map { .init(partition: 0, request: $0) }, acceptedAt: WallTime.now().milliseconds
        )
        write(key: order.key, value: order.encoded())
    }
}
