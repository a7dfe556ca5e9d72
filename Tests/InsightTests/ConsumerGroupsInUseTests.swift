import Catalog
import CatalogRecords
import JSON
import RecordFormat
import Testing

@testable import Insight

/// The consumer groups whose lag is shown.
struct ConsumerGroupsInUseTests {
    private let endpoint = WebhookEndpoint(
        app: "shop", name: "billing", url: "https://example.com", types: [.tokenDead], secrets: [],
        createdAt: 50)

    @Test func `the group of a deleted webhook is not in use, and that of its successor is`() {
        var catalog = CatalogSnapshot()
        _ = catalog.apply(key: endpoint.key, value: endpoint.encoded(), with: JSONReader())
        var successor = endpoint
        successor.createdAt = 60
        #expect(QueryServer.isInUse(group: endpoint.consumerGroup, in: catalog))
        #expect(!QueryServer.isInUse(group: successor.consumerGroup, in: catalog))
        _ = catalog.apply(key: endpoint.key, value: successor.encoded(), with: JSONReader())
        #expect(!QueryServer.isInUse(group: endpoint.consumerGroup, in: catalog))
        #expect(QueryServer.isInUse(group: successor.consumerGroup, in: catalog))
    }

    @Test(arguments: ["ingest", "fan-out", "insight", "webhooks"])
    func `the group of a stage is in use`(stage: String) {
        #expect(QueryServer.isInUse(group: stage, in: CatalogSnapshot()))
    }

    @Test func `without a catalog every group is in use`() {
        #expect(QueryServer.isInUse(group: endpoint.consumerGroup, in: nil))
    }
}
