internal import Lifecycle

/// A client of one server. It sends one request after the other and waits for each answer.
package final class SequentialHTTPClient: Sendable {
    private let client: LoopOwned<ReconnectingClient>

    package init(host: String, port: Int, name: String) throws {
        client = try LoopOwned(thread: name) { ReconnectingClient(host: host, port: port, on: $0.loop) }
    }

    package func stop() { client.stop { $0.end() } }

    /// Sends a request and returns its outcome.
    ///
    /// - Parameter milliseconds: The time to wait for the answer.
    package func send(_ request: HTTPClientConnection.Request, withinMilliseconds milliseconds: Int) async
        -> HTTPClientConnection.ExchangeOutcome
    {
        await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
            let isAsked = client.execute {
                $0.send(request, withinMilliseconds: milliseconds) { continuation.resume(returning: $0) }
            }
            if !isAsked { continuation.resume(returning: .failed("the client has been stopped")) }
        }
    }
}

/// The connection, which is replaced after it ends, and the caller that waits for an answer.
private final class ReconnectingClient {
    private let host: String
    private let port: Int
    private let loop: EventLoop
    private var connection: HTTPClientConnection?
    private var onResponse: ((HTTPClientConnection.ExchangeOutcome) -> Void)?

    init(host: String, port: Int, on loop: EventLoop) {
        self.host = host
        self.port = port
        self.loop = loop
    }

    func send(
        _ request: HTTPClientConnection.Request, withinMilliseconds milliseconds: Int,
        then: @escaping (HTTPClientConnection.ExchangeOutcome) -> Void
    ) {
        onResponse = then
        usableConnection().send(request, deadline: loop.now.advanced(byMilliseconds: milliseconds))
    }

    func end() { connection?.end() }

    private func usableConnection() -> HTTPClientConnection {
        if let connection, !connection.hasEnded { return connection }
        let link = HTTPClientConnection(host: host, port: port, on: loop) { [unowned self] outcome in
            let waiting = onResponse
            onResponse = nil
            if case .failed = outcome { self.connection?.end() }
            waiting?(outcome)
        }
        self.connection = link
        return link
    }
}
