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

/// A running planner on a test bed, with a separate state directory.
final class PlannerStage: Sendable {
    let service: FanOutService
    private let environment: StageEnvironment
    let metrics = Metrics()
    private let failures = TracedLock<[String]>([])

    /// - Parameter before: The stage to restart, with the same slot.
    init(
        _ bed: TestBed, directory: String, after before: PlannerStage? = nil,
        _ change: (inout FanOutSettings) -> Void = { _ in },
        onStep: @escaping @Sendable (PlannerStep) -> Void = { _ in }
    ) async throws {
        var settings = FanOutSettings()
        settings.sessionMilliseconds = 6000
        change(&settings)
        environment = try before?.environment ?? bed.environment(under: directory)
        service = FanOutService(
            settings, in: environment, loops: [.planner], settleMilliseconds: 0, onPlannerStep: onStep)
        let failures = failures
        try await service.start(
            ServiceContext(log: .silent, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    var identity: String {
        environment.identity(of: FanOutService.name, loop: FanOutService.Loop.planner.rawValue)
    }
    var obstacles: [String] { service.readinessProblems }
    var failure: String? { failures.withLock { $0.first } }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Returns the value of a metric by name and labels, as Prometheus reads it.
    func metric(_ name: String) -> Double {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
    }

    /// The number of sends that the planner has finished.
    var handled: Int {
        ["planned", "rejected"].reduce(0) {
            $0 + Int(metric("flotilla_fan_out_records_total{loop=\"planner\",outcome=\"\($1)\"}"))
        }
    }

    var startedOver: Int { Int(metric("flotilla_fan_out_started_over_total{loop=\"planner\"}")) }
}

extension TestBed {
    /// Returns the planner's verdicts on each send in `progress`, in order.
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

    /// Returns the records of `expansions` and `expansions.urgent`.
    func expansions() throws -> [(lane: Int32, isUrgent: Bool, request: ExpansionRequest)] {
        let reader = JSONReader(limits: Expansion.limits)
        return try [TopicName.expansions, .expansionsUrgent].flatMap { topic in
            try TopicContent(of: topic, in: self).records.map { record in
                (
                    record.partition, topic == .expansionsUrgent,
                    try ExpansionRequest.decode(record.value ?? [], with: reader)
                )
            }
        }
    }

    func notes() throws -> [SupersededVersions] {
        let reader = JSONReader()
        return try TopicContent(of: .superseded, in: self).records.map {
            try SupersededVersions.decode($0.value ?? [], with: reader)
        }
    }
}

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

func raw(_ text: String) -> RawJSON {
    var bytes = Array(text.utf8)
    return bytes.withUnsafeMutableBytes { RawJSON(accepted: UnsafeRawBufferPointer($0)) }
}

extension RecordWriter {
    func send(_ send: Send) { self.write(key: send.scopeKey?.bytes, value: send.encoded()) }
    func send(_ cancel: Cancellation) { write(key: cancel.scopeKey?.bytes, value: cancel.encoded()) }
}
