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

    /// The consumer group of an endpoint, without the prefix. An endpoint that is deleted and created again has another
    /// group, so it does not receive events from before its creation.
    static func group(of endpoint: WebhookEndpoint) -> String {
        "webhooks/\(endpoint.app)/\(endpoint.name)/\(endpoint.createdAt)"
    }

    /// The options of the endpoint's consumer.
    var consumerOptions: ConsumerOptions {
        let layout = environment.layout
        let topics = WebhookSource.sources(of: endpoint.types).map { layout.name(of: $0.topic) }
        var options = ConsumerOptions(
            membership: .group(
                layout.prefix + Self.group(of: endpoint), instanceID: nil, topics: topics))
        options.sessionMilliseconds = settings.sessionMilliseconds
        options.prefetchKibibytesMax = WebhooksSettings.prefetchKibibytes
        options.fetchKibibytesMax = WebhooksSettings.prefetchKibibytes
        // Each answer then serves several partitions.
        options.partitionKibibytesMax = WebhooksSettings.prefetchKibibytes / 4
        return options
    }
}
