internal import HTTP2
internal import Lifecycle
internal import TLS
internal import Telemetry

/// One connection of a pool: an HTTP/2 session over TLS. It passes events to its pool and decides nothing.
final class PushConnection: TLSConnectionDelegate {
    /// The connection's number in the pool's state machine.
    let number: UInt32
    let session: ClientSession
    let pool: ConnectionPool
    /// Nil before `connect` and after the close.
    private(set) var tls: TLSConnection?
    private var pingCount: UInt64 = 0
    private(set) var isEstablished = false
    /// Whether `unsentBytesMax` bytes wait in the session, because the socket or the window takes no more. Then
    /// requests stay in the pool, which has other connections.
    private var isFull = false
    /// Limit on the bytes that wait in a session. At the limit the next request is not taken.
    private static let unsentBytesMax = 128 * 1024

    init(number: UInt32, pool: ConnectionPool) {
        self.number = number
        self.pool = pool
        var limits = ClientLimits()
        limits.streamsMax = pool.settings.streamsPerConnectionMax
        limits.requestsMax = pool.settings.requestsPerConnectionMax
        limits.lateResponseMilliseconds = pool.settings.lateAnswerMilliseconds
        limits.bodyBytesMax = pool.answerBytesMax
        session = ClientSession(
            limits: limits, keeping: ["retry-after", "apns-unique-id", "apns-channel-id"])
    }

    /// Connects. The host name is resolved again for each connection.
    func connect(as provider: APNsProvider, on loop: EventLoop) {
        var options = TCPOptions()
        options.unacknowledgedMillisecondsMax = provider.settings.unacknowledgedMillisecondsMax
        let deadline = loop.now.advanced(byMilliseconds: provider.settings.connectMilliseconds)
        tls = TLSConnection.connect(
            context: provider.tls, host: pool.key.endpoint.host, port: pool.key.endpoint.port, on: loop,
            deadline: deadline, options: options, delegate: self)
    }

    /// Takes one request, or returns nil if the connection is full. A full buffer is sent before the iteration ends,
    /// while the data of its requests is still in the processor's caches.
    func submit(
        _ template: RequestTemplate, path: Span<UInt8>, varying: Span<UInt8>, body: SharedBody?, tag: UInt64,
        sendBy: Instant, deadline: Instant
    ) -> RequestID? {
        if session.unsentBytes >= PushConnection.unsentBytesMax {
            tls?.fillNow()
            isFull = session.unsentBytes >= PushConnection.unsentBytesMax
            if isFull { return nil }
        }
        return session.submit(
            template: template, path: path, varying: varying, body: body, tag: tag, sendDeadline: sendBy,
            deadline: deadline
        )
    }

    /// Lets the TLS connection take the session's bytes in this iteration of the loop.
    func scheduleSend() { tls?.requestFill() }

    /// Sends a PING, unless one waits for its answer.
    func ping() {
        pingCount += 1
        if session.sendPing(payload: pingCount) { scheduleSend() }
    }

    /// Sends GOAWAY and closes when it has been sent.
    func finish() {
        guard isEstablished else { return close() }
        session.finish()
        scheduleSend()
    }

    func close() { tls?.close() }

    // MARK: Calls from the TLS connection

    func didEstablish(applicationProtocol: String) {
        isEstablished = true
        pool.handleOpen(of: self)
    }

    func didReceive(_ plaintext: UnsafeRawBufferPointer) {
        unsafe session.receive(plaintext)
        pool.handleRead(on: self)
        if session.isFinished { tls?.finish() }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = unsafe session.pull(into: buffer, at: pool.client.loop.now)
        // Outcomes are not taken here. Their receiver may push, and this call may already be inside a push.
        if session.hasOutcomes { pool.requestFlush() }
        if isFull, session.unsentBytes < PushConnection.unsentBytesMax {
            isFull = false
            pool.handleDrain(of: self)
        }
        if count == 0, session.isFinished { tls?.finish() }
        return count
    }

    func didClose(reason: TLSCloseReason) {
        tls = nil
        session.end()
        pool.handleClose(of: self, reason: reason)
    }
}
