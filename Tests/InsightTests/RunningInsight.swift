import Catalog
import Foundation
import IngestTesting
import Kafka
import Lifecycle
import Members
import ProcessTesting
import StageSupport
import Store
import Telemetry
import Testing
import Topics

@testable import Insight

/// The insight stage in this process, on the topics of a test bed. `answer` asks it as a gateway does.
final class RunningInsight: Sendable {
    private let service: InsightService
    private let environment: StageEnvironment
    private let failures = TracedLock<[String]>([])
    let metrics = Metrics()

    init(
        brokers: [String], prefix: String, directory: String, limits: EnvironmentLimits = EnvironmentLimits(),
        onStep: @escaping @Sendable (InsightStep) -> Void = { _ in }
    ) async throws {
        var settings = InsightSettings()
        settings.sessionMilliseconds = 6000
        settings.viewLimits = limits
        // Small, so that there are many batches.
        settings.batchRecordsMax = 50
        environment = StageEnvironment(
            cluster: Cluster(settings: KafkaSettings(brokers: brokers)),
            layout: TopicLayout(prefix: prefix, lanes: InsightDay.lanes),
            slot: try ProcessSlot.acquire(under: directory), sealingKeys: nil, catalog: { nil })
        service = InsightService(settings, in: environment, onStep: onStep)
        let failures = failures
        try await service.start(
            ServiceContext(log: .silent, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    convenience init(
        _ bed: TestBed, directory: String, limits: EnvironmentLimits = EnvironmentLimits()
    ) async throws {
        try await self.init(
            brokers: bed.settings.brokers, prefix: bed.layout.prefix, directory: directory, limits: limits)
    }

    /// The first error with which the stage gave up.
    var failure: String? { failures.withLock { $0.first } }
    var readinessProblems: [String] { service.readinessProblems }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Returns the answer that a gateway would receive.
    func answer(
        _ name: InsightQuery.Kind, id: String? = nil, app: String = "shop",
        _ parameters: [String: String] = [:]
    ) async throws -> [String: Any] {
        let call = InsightQuery(
            name, app: app, id: id,
            parameters: parameters.map { InsightQuery.Parameter(name: $0.key, value: $0.value) })
        let body = try #require(await service.answer(call))
        return try #require(JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
    }

    /// Whether all written records are in the files, by the group's committed offsets.
    func hasReadAll(of bed: TestBed, except skippedTopic: InsightTopic? = nil) throws -> Bool {
        let topics = InsightTopic.allCases.filter { $0 != skippedTopic }
        let partitions = topics.map(\.name).flatMap { topic in
            (0..<Int32(InsightDay.lanes)).map { TopicPartition(bed.layout.name(of: topic), $0) }
        }
        // A process without lanes is ready too, and the offsets of the group may be those of an earlier process.
        let openLaneCount = metrics.values(of: "flotilla_insight_lanes").map(\.number).reduce(0, +)
        guard readinessProblems.isEmpty, openLaneCount == Double(InsightDay.lanes) else { return false }
        return try bed.admin.lag(of: bed.layout.prefix + "insight", in: partitions).allSatisfy { lag in
            lag.recordCount == 0
        }
    }

    /// Returns the number of files that were discarded at opening.
    func discardedFileCount() -> Int {
        metrics.render().split(separator: "\n").reduce(0) { sum, line in
            guard line.hasPrefix("flotilla_insight_files_total"), line.contains("discarded"),
                let count = line.split(separator: " ").last.flatMap({ Int($0) })
            else { return sum }
            return sum + count
        }
    }
}
