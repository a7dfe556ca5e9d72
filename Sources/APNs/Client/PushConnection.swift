internal import HTTP2
internal import Lifecycle
internal import TLS
internal import Telemetry

/// One connection of a pool: a session over TLS. It carries events to its pool and decides nothing.
final class PushConnection: TLSConnectionDelegate {
    let number: UInt32
    let session: ClientSession
    let pool: ConnectedPool
    private(set) var tls: TLSConnection?
    private var pings: UInt64 = 0
    private(set) var isEstablished = false

    init(_ number: UInt32, _ pool: ConnectedPool) {
        self.number = number
        self.pool = pool
        var limits = ClientLimits()
        limits.streamsMax = pool.settings.streamsPerConnectionMax
        limits.requestsMax = pool.settings.requestsPerConnectionMax
        limits.lateAnswerMilliseconds = pool.settings.lateAnswerMilliseconds
        limits.bodyBytesMax = pool.answerBytesMax
        session = ClientSession(
            limits: limits, keeping: ["retry-after", "apns-unique-id", "apns-channel-id"])
    }

    /// The host's name is looked up anew for each connection.
    func connect(_ provider: Provider, on loop: EventLoop) {
        var options = TCPOptions()
        options.unacknowledgedMillisecondsMax = provider.settings.unacknowledgedMilliseconds
        let deadline = loop.now.advanced(byMilliseconds: provider.settings.connectMilliseconds)
        tls = TLSConnection.connect(
            provider.tls, host: pool.key.endpoint.host, port: pool.key.endpoint.port, on: loop,
            deadline: deadline, options: options, delegate: self)
    }

    func wantsToSend() { tls?.wantsToSend() }

    func ping() {
        pings += 1
        if session.ping(pings) { wantsToSend() }
    }

    /// Says GOAWAY; closed when that has left.
    func finish() {
        guard isEstablished else { return close() }
        session.finish()
        wantsToSend()
    }

    func close() { tls?.close() }

    // MARK: The connection's calls

    func established(applicationProtocol: String) {
        isEstablished = true
        pool.connected(self)
    }

    func received(_ plaintext: UnsafeRawBufferPointer) {
        unsafe session.receive(plaintext)
        pool.received(self)
        if session.isOver { tls?.finish() }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = unsafe session.pull(into: buffer)
        if count == 0, session.isOver { tls?.finish() }
        return count
    }

    func closed(_ reason: TLSCloseReason) {
        tls = nil
        session.end()
        pool.closed(self, reason)
    }
}
