internal import CatalogRecords
internal import HTTPClient
internal import Lifecycle
internal import TLS

/// One connection to an endpoint, with one call at a time. An ended connection stays ended: its owner makes another.
/// Confined to its loop.
final class EndpointConnection: TCPConnectionDelegate, TLSConnectionDelegate {
    /// The end of one call.
    enum Ending {
        case finished(CallOutcome)
        /// The peer has closed the connection, which an earlier call had used, before the first byte of an answer. That
        /// happens if a server closes idle connections. The call is repeated on a new connection.
        case closedWhileReused
    }

    private enum Transport {
        case plain(TCPConnection)
        case encrypted(TLSConnection)
    }

    /// The limit of the body of an answer. A longer body is not read, and the connection is closed.
    private static let bodyBytesMax = 16 << 10

    private let loop: EventLoop
    /// Nil before the first call and after the end.
    private var transport: Transport?
    /// Opens the transport, with a delegate and a deadline.
    private let connect: (EndpointConnection, Instant) -> Transport
    private(set) var hasEnded = false
    /// Whether an earlier call has got its answer on this connection.
    private var hasServedCalls = false

    // The call in flight.
    private var completion: ((Ending) -> Void)?
    private var parser = HTTPResponseParser()
    /// Whether a part of the answer has come.
    private var hasReceived = false
    /// The request's bytes that TLS has not taken yet.
    private var unsent: ArraySlice<UInt8> = []
    private var timer: LoopTimer?

    init(to url: WebhookURL, tls: TLSContext, options: TCPOptions, on loop: EventLoop) {
        self.loop = loop
        connect = { delegate, deadline in
            switch url.scheme {
            case .https:
                .encrypted(
                    TLSConnection.connect(
                        context: tls, host: url.host, port: url.port, on: loop, deadline: deadline,
                        options: options, delegate: delegate))
            case .http:
                .plain(
                    TCPConnection.connect(
                        host: url.host, port: url.port, on: loop, deadline: deadline, options: options,
                        delegate: delegate))
            }
        }
        timer = LoopTimer(on: loop) { [weak self] in
            self?.end(with: .failed(reason: "the endpoint did not answer in time", retryAfterSeconds: nil))
        }
    }

    var isIdle: Bool { completion == nil && !hasEnded }

    /// Sends a request. `completion` is called once, at the deadline at the latest, unless `close` comes first.
    func send(_ request: WebhookRequest, deadline: Instant, completion: @escaping (Ending) -> Void) {
        precondition(isIdle, "one call at a time")
        self.completion = completion
        parser = HTTPResponseParser(bodyBytesMax: Self.bodyBytesMax, longBody: .ignored)
        hasReceived = false
        unsent = request.bytes[...]
        timer?.schedule(at: deadline)
        let transport = transport ?? connect(self, deadline)
        self.transport = transport
        switch transport {
        case .plain(let connection): connection.send(request.bytes)
        case .encrypted(let connection): connection.requestFill()
        }
    }

    /// Closes the connection. An unfinished call gets no outcome.
    func close() {
        completion = nil
        hasEnded = true
        timer?.cancel()
        timer = nil
        switch transport {
        case nil: break
        case .plain(let connection): connection.close()
        case .encrypted(let connection): connection.close()
        }
        transport = nil
    }

    // MARK: Calls from the connection

    func didEstablish(applicationProtocol: String) {
        if case .encrypted(let connection) = transport { connection.requestFill() }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let part = unsent.prefix(buffer.count)
        unsafe buffer.copyBytes(from: part)
        unsent = unsent.dropFirst(part.count)
        return part.count
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        // Bytes without a request: the peer is faulty, or it is about to close the connection.
        guard completion != nil else { return close() }
        hasReceived = true
        switch unsafe parser.parse(bytes) {
        case .needsMore: break
        case .malformed:
            end(with: .failed(reason: "the endpoint's answer is not valid HTTP", retryAfterSeconds: nil))
        case .complete(let response, let keepsAlive):
            let outcome = CallOutcome(
                status: response.status, retryAfterSeconds: response.retryAfterSeconds)
            guard keepsAlive else { return end(with: outcome) }
            hasServedCalls = true
            timer?.cancel()
            report(.finished(outcome))
        }
    }

    func didBecomeWritable() {}

    func didClose(reason: TCPCloseReason) { didClose(because: reason.description) }

    func didClose(reason: TLSCloseReason) { didClose(because: reason.description) }

    private func didClose(because reason: String) {
        let isClosedWhileReused = hasServedCalls && !hasReceived
        let completion = completion
        close()
        completion?(
            isClosedWhileReused
                ? .closedWhileReused : .finished(.failed(reason: reason, retryAfterSeconds: nil)))
    }

    /// Closes the connection and reports the outcome.
    private func end(with outcome: CallOutcome) {
        let completion = completion
        close()
        completion?(.finished(outcome))
    }

    private func report(_ ending: Ending) {
        let completion = completion
        self.completion = nil
        completion?(ending)
    }
}
