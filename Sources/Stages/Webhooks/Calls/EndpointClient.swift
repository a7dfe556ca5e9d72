internal import CatalogRecords
internal import Lifecycle
internal import TLS

/// A client of one endpoint with a few connections. Confined to its loop.
final class EndpointClient {
    /// The time in which an endpoint must answer, as the Standard Webhooks specification recommends. It includes the
    /// connection.
    static let callMilliseconds = 15_000

    private let url: WebhookURL
    private let tls: TLSContext
    private let options: TCPOptions
    private let loop: EventLoop
    private let callMilliseconds: Int
    /// The connections, idle ones included. There are at most as many as calls at one time.
    private var connections: [EndpointConnection] = []

    init(
        to url: WebhookURL, tls: TLSContext, networks: NetworkGuard, on loop: EventLoop,
        callMilliseconds: Int = EndpointClient.callMilliseconds
    ) {
        self.url = url
        self.tls = tls
        options = networks.options
        self.loop = loop
        self.callMilliseconds = callMilliseconds
    }

    /// Sends a request. `completion` is called once, after `callMilliseconds` at the latest, unless `close` comes first.
    func send(_ request: WebhookRequest, completion: @escaping (CallOutcome) -> Void) {
        let deadline = loop.now.advanced(byMilliseconds: callMilliseconds)
        send(request, deadline: deadline, on: idleConnection(), completion: completion)
    }

    private func send(
        _ request: WebhookRequest, deadline: Instant, on connection: EndpointConnection,
        completion: @escaping (CallOutcome) -> Void
    ) {
        connection.send(request, deadline: deadline) { [weak self] ending in
            guard let self else { return }
            switch ending {
            case .finished(let outcome): completion(outcome)
            case .closedWhileReused:
                send(request, deadline: deadline, on: newConnection(), completion: completion)
            }
        }
    }

    private func idleConnection() -> EndpointConnection {
        connections.removeAll { $0.hasEnded }
        return connections.first { $0.isIdle } ?? newConnection()
    }

    private func newConnection() -> EndpointConnection {
        let connection = EndpointConnection(to: url, tls: tls, options: options, on: loop)
        connections.append(connection)
        return connection
    }

    /// Closes all connections. Unfinished calls get no outcome.
    func close() {
        for connection in connections { connection.close() }
        connections = []
    }
}
