import Catalog
import CatalogRecords
import IngestTesting
import Kafka
import Lifecycle
import Members
import Settings
import StageSupport
import Telemetry
import Topics
import WebhooksTesting

@testable import Webhooks

/// The webhooks stage in this process, on the topics of a test bed. The test sets its catalog.
final class RunningWebhooks: Sendable {
    private let service: WebhooksService
    private let catalog: TracedLock<CatalogSnapshot>
    private let failures = TracedLock<[String]>([])
    /// The newest calls, as the process would publish them.
    let deliveries: WebhookDeliveries
    let metrics = Metrics()

    init(
        _ bed: TestBed, endpoint: WebhookTestEndpoint, directory: String,
        change: (inout WebhooksSettings) -> Void = { _ in }
    ) async throws {
        var settings = WebhooksSettings()
        settings.sessionMilliseconds = 6000
        settings.allowsHTTP = true
        settings.allowedNetworks = [AddressRange("127.0.0.0/8"), AddressRange("::1")].compactMap { $0 }
        change(&settings)
        let catalog = TracedLock(endpoint.catalog)
        self.catalog = catalog
        let environment = StageEnvironment(
            cluster: Cluster(settings: bed.settings), layout: bed.layout,
            slot: try ProcessSlot.acquire(under: directory), sealingKeys: endpoint.sealingKeys,
            catalog: { catalog.withLock { $0 } })
        deliveries = environment.webhookDeliveries
        service = WebhooksService(settings, in: environment)
        let failures = failures
        try await service.start(
            ServiceContext(log: .silent, metrics: metrics) { error in
                failures.withLock { $0.append("\(error)") }
            })
    }

    func use(_ catalog: CatalogSnapshot) { self.catalog.withLock { $0 = catalog } }

    var readinessProblems: [String] { service.readinessProblems }
    var failure: String? { failures.withLock { $0.first } }

    func stop() async { await service.stop(by: Instant.now().advanced(byMilliseconds: 20_000)) }

    /// Returns the sum of a metric over its series with this value of a label.
    func count(_ name: String, _ label: String, _ value: String) -> Double {
        metrics.values(of: name).filter { $0.labels[label] == value }.map(\.number).reduce(0, +)
    }
}
