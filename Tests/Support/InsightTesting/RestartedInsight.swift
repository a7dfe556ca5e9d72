internal import Foundation
package import IngestTesting
package import Insight
internal import Kafka
internal import Lifecycle
internal import Members
internal import Telemetry
internal import Topics

/// The stage in this process, on files of dead processes.
package final class RestartedInsight: Sendable {
    package let service: InsightService

    package init(on bed: TestBed, directory: String) async throws {
        var settings = InsightSettings()
        settings.sessionMilliseconds = StageProcess.sessionMilliseconds
        service = InsightService(settings, in: try bed.environment(under: directory))
        try await service.start(ServiceContext(log: .silent, metrics: Metrics()) { _ in })
    }

    /// Waits until every lane answers and all records are in the files.
    package func waitUntilComplete(on bed: TestBed) async throws {
        for _ in 0..<3000 {
            let body = await service.answer(InsightQuery(.fleet, app: "shop"))
            let answer = try body.flatMap {
                try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any]
            }
            if let answer, answer["partial"] == nil, service.readinessProblems.isEmpty,
                Self.hasReadAll(of: bed)
            {
                return
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw KillTestFailure("insight does not answer for all lanes: \(service.readinessProblems)")
    }

    package func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 15_000)) }

    /// Whether everything is read, by the group's committed offsets.
    static func hasReadAll(of bed: TestBed) -> Bool {
        let topics: [TopicName] = [
            .receipts, .events, .progress, .groups, .installations, .timers, .audit,
        ]
        return bed.isEverythingRead(by: "insight", in: topics)
    }
}
