internal import Lifecycle

/// A client of one server, with a thread and one connection. Its caller sends a request only after the
/// outcome of the previous one. It connects again after a failure.
package final class SequentialHTTPClient: Sendable {
    private let client: LoopOwned<ReconnectingClient>

    /// - Parameter name: The name of the thread.
    package init(host: String, port: Int, name: String) throws {
        client = try LoopOwned(thread: name) { ReconnectingClient(host: host, port: port, on: $0.loop) }
    }

    /// Stops. A request that waits for its answer fails.
    package func stop() { client.stop { $0.end() } }

    /// Sends a request and returns its outcome.
    ///
    /// - Parameter milliseconds: The time to wait for the answer.
    package func send(_ request: HTTPClientConnection.Request, withinMilliseconds milliseconds: Int) async
        -> HTTPClientConnection.ExchangeOutcome
    {
        await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
            let isAccepted = client.execute {
                $0.send(request, withinMilliseconds: milliseconds) { continuation.resume(returning: $0) }
            }
            if !isAccepted { continuation.resume(returning: ReconnectingClient.stopped) }
        }
    }
}

/// A connection that is replaced when it has ended, and the waiting caller. Confined to its loop.
private final class ReconnectingClient {
    static let stopped = HTTPClientConnection.ExchangeOutcome.failed("the client has been stopped")

    private let host: String
    private let port: Int
    private let loop: EventLoop
    private var connection: HTTPClientConnection?
    private var onOutcome: ((HTTPClientConnection.ExchangeOutcome) -> Void)?

    init(host: String, port: Int, on loop: EventLoop) {
        self.host = host
        self.port = port
        self.loop = loop
    }

    func send(
        _ request: HTTPClientConnection.Request, withinMilliseconds milliseconds: Int,
        onOutcome: @escaping (HTTPClientConnection.ExchangeOutcome) -> Void
    ) {
        self.onOutcome = onOutcome
        usableConnection().send(request, deadline: loop.now.advanced(byMilliseconds: milliseconds))
    }

    func end() {
        connection?.end()
        report(Self.stopped)
    }

    private func report(_ outcome: HTTPClientConnection.ExchangeOutcome) {
        let callback = onOutcome
        onOutcome = nil
        callback?(outcome)
    }

    private func usableConnection() -> HTTPClientConnection {
        if let connection, !connection.hasEnded { return connection }
        let newConnection = HTTPClientConnection(host: host, port: port, on: loop) { [unowned self] outcome in
            // After a failure a late answer could be taken for the answer to the next request.
            if case .failed = outcome { self.connection?.end() }
            report(outcome)
        }
        self.connection = newConnection
        return newConnection
    }
}
