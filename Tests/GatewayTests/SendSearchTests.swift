import Kafka
import Lifecycle
import Telemetry
import Testing
import Topics

@testable import Gateway

/// The search for a send in its topics.
struct SendSearchTests {
    @Test func `a lookup whose call is over is not searched`() async throws {
        let context = ServiceContext(log: .silent, metrics: Metrics()) { Issue.record("it gave up: \($0)") }
        let layout = TopicLayout(lanes: 4)
        // Nothing listens there, so a search would end as unavailable.
        let cluster = Cluster(settings: KafkaSettings(brokers: ["127.0.0.1:1"]))
        let id = try #require(SendID("r-1795809600000-3-0123456789abcdef01234567", lanes: 4))
        let result = try await onThread {
            let search = try LoopOwned<SendSearch>(thread: "lookups") {
                SendSearch(cluster: cluster, layout: layout, context: context, on: $0.loop)
            }
            let result = search.perform { $0.find(id, of: "shop", from: .backwardsFromEnd, by: .now()) }
            search.stop { $0.close() }
            return result
        }
        guard case .timedOut = result else {
            Issue.record("\(String(describing: result))")
            return
        }
    }
}
