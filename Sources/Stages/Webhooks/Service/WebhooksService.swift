internal import Cryptography
package import Lifecycle
package import StageSupport
internal import TLS
package import Topics

/// The stage that calls the webhook endpoints of apps with the events of the topics. Each endpoint has a consumer group and
/// a thread (`EndpointLoop`). `EndpointDirector` starts and stops them.
package final class WebhooksService: Stage {
    package static let name = "webhooks"
    package static let summary = "calls the webhook endpoints of apps with events, in order and at least once"
    package static let topics: [TopicName] = WebhookSource.allCases.map(\.topic) + [.catalog, .audit]
    /// A client for changes of the catalog, and one for each of the endpoints that `webhooks.endpoints` allows by
    /// default. The connections to an endpoint take half as many descriptors as its client.
    package static let fileDescriptors = StageFileDescriptors(
        clients: 1 + WebhooksSettings().endpointsMax * 3 / 2)

    private let settings: WebhooksSettings
    private let environment: StageEnvironment
    private let onStep: @Sendable (WebhooksStep) -> Void
    private let thread = StageThread(name: WebhooksService.name, priority: .background)

    package convenience init(_ settings: WebhooksSettings, in environment: StageEnvironment) {
        self.init(settings, in: environment) { _ in }
    }

    /// - Parameter onStep: Called after every step, on the threads of the endpoints. Tests end the process in it.
    package init(
        _ settings: WebhooksSettings, in environment: StageEnvironment,
        onStep: @escaping @Sendable (WebhooksStep) -> Void
    ) {
        self.settings = settings
        self.environment = environment
        self.onStep = onStep
    }

    package var readinessProblems: [String] { thread.readinessProblems }

    package func start(_ context: ServiceContext) async throws {
        let (settings, environment, onStep) = (settings, environment, onStep)
        AllocatorSettings.keepFreedMemory()
        try await thread.start(in: context) { state in
            try EndpointDirector(
                settings: settings, in: environment, context: context, state: state, onStep: onStep)
        }
    }

    package func stop(by deadline: Instant) async {
        thread.requestStop()
        thread.join()
    }
}

extension WebhooksSettings {
    /// Makes the configuration of the connections to endpoints, for HTTP/1.1.
    func makeTLSContext() throws -> TLSContext {
        try TLSContext.client(
            trust: authorities.isEmpty ? .system : .authorities(.file(authorities)), protocols: [])
    }
}
