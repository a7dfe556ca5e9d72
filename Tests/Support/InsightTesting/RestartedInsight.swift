internal import Foundation
package import IngestTesting
package import Insight
internal import Kafka
internal import Lifecycle
internal import Members
internal import Telemetry
internal import Topics

/// The insight stage in the test's process, on the files of a dead process. It is a member of the stage's group until
/// `stop`.
package final class RestartedInsight: Sendable {
    private static let completionSecondsMax = 300
    private static let stopMillisecondsMax = 15_000

    package let service: InsightService

    package init(on bed: TestBed, directory: String) async throws {
        var settings = InsightSettings()
        settings.sessionMilliseconds = StageProcess.sessionMilliseconds
        service = InsightService(settings, in: try bed.environment(under: directory))
        try await service.start(ServiceContext(log: .silent, metrics: Metrics()) { _ in })
    }

    /// Waits until every lane answers and all records are in the files.
    package func waitUntilComplete(on bed: TestBed) async throws {
        let checksPerSecond = 10
        for _ in 0..<checksPerSecond * Self.completionSecondsMax {
            let body = await service.answer(InsightQuery(.fleet, app: "shop"))
            let answer = try body.flatMap {
                try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any]
            }
            let isAnswerComplete = answer != nil && answer?["partial"] == nil
            if isAnswerComplete, service.readinessProblems.isEmpty, Self.hasReadAll(of: bed) { return }
            try await Task.sleep(for: .milliseconds(1000 / checksPerSecond))
        }
        throw KillTestFailure("insight does not answer for all lanes: \(service.readinessProblems)")
    }

    package func stop() async {
        await service.stop(by: Instant.now().advanced(byMilliseconds: Self.stopMillisecondsMax))
    }

    /// Whether the group has committed all records of insight's topics.
    static func hasReadAll(of bed: TestBed) -> Bool {
        let topics: [TopicName] = [
            .receipts, .events, .progress, .groups, .installations, .timers, .audit,
            .auditSends,
        ]
        return bed.isEverythingRead(by: "insight", in: topics)
    }
}
