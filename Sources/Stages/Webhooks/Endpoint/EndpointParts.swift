internal import CatalogRecords
internal import Cryptography
internal import Kafka
internal import StageSupport
internal import TLS
internal import Telemetry
internal import Topics

/// The values that the loop of an endpoint needs, made before its thread starts.
struct EndpointParts: Sendable {
    let endpoint: WebhookEndpoint
    let url: WebhookURL
    let settings: WebhooksSettings
    let environment: StageEnvironment
    let tls: TLSContext
    let log: Log
    let kafkaMetrics: Metrics
    let metrics: WebhooksMetrics
    let report: EndpointReport
    let onStep: @Sendable (WebhooksStep) -> Void

    /// The options of the endpoint's consumer.
    var consumerOptions: ConsumerOptions {
        let layout = environment.layout
        let topics = WebhookSource.sources(of: endpoint.types).map { layout.name(of: $0.topic) }
        var options = ConsumerOptions(
            membership: .group(
                layout.prefix + endpoint.consumerGroup, instanceID: nil, topics: topics))
        options.sessionMilliseconds = settings.sessionMilliseconds
        options.prefetchKibibytesMax = WebhooksSettings.prefetchKibibytes
        options.fetchKibibytesMax = WebhooksSettings.prefetchKibibytes
        // Each answer then serves several partitions.
        options.partitionKibibytesMax = WebhooksSettings.prefetchKibibytes / 4
        return options
    }
}
