import CatalogRecords
import FanOut
import IngestTesting
import JSON
import Kafka
import Lifecycle
import Payloads
import ProcessTesting
import RecordFormat
import Sends
import StageSupport
import Telemetry
import Topics

/// A planner stage that runs in the test's process.
final class PlannerStage: Sendable {
    let service: FanOutService
    private let environment: StageEnvironment
    let metrics: Metrics
    private let failures = TracedLock<[String]>([])

    /// - Parameters:
    ///   - directory: The directory for its state.
    ///   - stoppedStage: A stage whose slot and state the new one takes over.
    ///   - metrics: The metrics of the stage, for an `onStep` that reads them.
    convenience init(
        _ bed: TestBed, directory: String, after stoppedStage: PlannerStage? = nil,
        _ change: (inout FanOutSettings) -> Void = { _ in }, metrics: Metrics = Metrics(),
        onStep: @escaping @Sendable (PlannerStep) -> Void = { _ in }
    ) async throws {
        try await self.init(
            in: stoppedStage?.environment ?? bed.environment(under: directory), change, metrics: metrics,
            onStep: onStep)
    }

    init(
        in environment: StageEnvironment, _ change: (inout FanOutSettings) -> Void = { _ in },
        metrics: Metrics = Metrics(), onStep: @escaping @Sendable (PlannerStep) -> Void = { _ in }
    ) async throws {
        self.metrics = metrics
        var settings = FanOutSettings()
        settings.sessionMilliseconds = 6000
        change(&settings)
        self.environment = environment
        service = FanOutService(
            settings, in: environment, loops: [.planner], settleMilliseconds: 0, onPlannerStep: onStep)
        let failures = failures
        try await service.start(
            ServiceContext(log: .silent, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    /// The transactional id of the planner.
    var identity: String {
        environment.identity(of: FanOutService.name, loop: FanOutService.Loop.planner.rawValue)
    }
    /// The reasons for which the stage is not ready.
    var readinessProblems: [String] { service.readinessProblems }
    /// The error that ended the stage, or nil.
    var failure: String? { failures.withLock { $0.first } }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Returns the value of a metric by name and labels, as Prometheus reads it, or 0 if it does not exist.
    func metric(_ name: String) -> Double { Self.value(of: name, in: metrics) }

    static func value(of name: String, in metrics: Metrics) -> Double {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }

    /// The number of sends that the planner has finished.
    var handledCount: Int {
        ["planned", "rejected"].reduce(0) {
            $0 + Int(metric("flotilla_fan_out_records_total{loop=\"planner\",outcome=\"\($1)\"}"))
        }
    }

    /// The number of times that the stage read everything again from the committed offsets.
    var startOverCount: Int { Int(metric("flotilla_fan_out_started_over_total{loop=\"planner\"}")) }
}

extension TestBed {
    /// Returns the planner's verdicts on each send in `progress`, in order.
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

    /// Returns the planner's records for the lanes.
    func expansions() throws -> [(lane: Int32, request: ExpansionRequest)] {
        let reader = JSONReader(limits: Expansion.limits)
        return try TopicContent(of: .expansionsUrgent, in: self).records.map { record in
            (record.partition, try ExpansionRequest.decode(record.value ?? [], with: reader))
        }
    }

    /// Returns the notes to the senders about superseded versions.
    func notes() throws -> [SupersededVersions] {
        let reader = JSONReader()
        return try TopicContent(of: .superseded, in: self).records.map {
            try SupersededVersions.decode($0.value ?? [], with: reader)
        }
    }
}

/// Returns a send with a content state, and with the attributes and alert that a start needs.
func makeSend(
    _ event: PushEvent, to audience: Audience = .group, group: String = "match", id: String, state: Int = 0
) -> Send {
    var content = PushContent(event)
    content.contentState = raw("{\"goals\":\(state)}")
    if event == .start {
        content.attributesType = "Match"
        content.attributes = raw("{\"home\":\"A\"}")
        content.alert = Alert(title: .plain("Kick-off"))
    }
    return Send(
        id: id, app: TestBed.app.id, group: group, audience: audience, content: content, priority: .immediate,
        acceptedAt: 1_763_600_000_000)
}

/// Returns the JSON value in the text, which is a test's own and is not checked.
func raw(_ text: String) -> RawJSON {
    var bytes = Array(text.utf8)
    return bytes.withUnsafeMutableBytes { RawJSON(accepted: UnsafeRawBufferPointer($0)) }
}

extension RecordWriter {
    func send(_ send: Send) { self.write(key: send.scopeKey?.bytes, value: send.encoded()) }
    func send(_ cancellation: Cancellation) {
        write(key: cancellation.scopeKey?.bytes, value: cancellation.encoded())
    }
}
