internal import Glibc
internal import Lifecycle
internal import TLS

/// The relay between a client's TLS connection and the server's plaintext connection. Each side is paused while the other
/// cannot take more, so that a slow client is slow for the server, too. Confined to the loop of its connections.
final class TLSRelay: TLSConnectionDelegate {
    /// The bytes of answers that wait for the client. Beyond it the server's side is paused.
    private static let pendingBytesMax = 256 << 10

    private let tls: TLSConnection
    private let peer: SocketAddress
    /// Makes the connection to the server.
    private let pairs: LoopbackPairs
    /// Gives the server its end of the connection, with the client's address.
    private let deliver: @Sendable (Int32, SocketAddress) -> Void
    /// Is called when the client's connection has ended.
    private let onEnd: @Sendable () -> Void
    /// The server's side. Nil before the handshake, and after the end of either side.
    private var server: TCPConnection?
    /// The bytes for the client, from `sentCount` on.
    private var pending: [UInt8] = []
    private var sentCount = 0

    init(
        _ tls: TLSConnection, peer: SocketAddress, pairs: LoopbackPairs,
        deliver: @escaping @Sendable (Int32, SocketAddress) -> Void, onEnd: @escaping @Sendable () -> Void
    ) {
        self.tls = tls
        self.peer = peer
        self.pairs = pairs
        self.deliver = deliver
        self.onEnd = onEnd
    }

    // MARK: The client's side

    func didEstablish(applicationProtocol: String) {
        do throws(SystemError) {
            let pair = try pairs.make()
            server = TCPConnection.adopt(pair.first, on: tls.loop, delegate: ServerSide(self))
            deliver(pair.second, peer)
        } catch {
            // The process has no descriptors left. The client sees a closed connection.
            tls.close()
        }
    }

    func didReceive(_ plaintext: UnsafeRawBufferPointer) {
        guard let server else { return }
        let canSendMore = unsafe server.send(plaintext)
        if !canSendMore { tls.pauseReading() }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, pending.count - sentCount)
        if count > 0 {
            unsafe pending.withUnsafeBytes { bytes in
                unsafe buffer.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: bytes[sentCount..<sentCount + count]))
            }
            sentCount += count
        }
        if sentCount == pending.count {
            pending.removeAll(keepingCapacity: true)
            sentCount = 0
            server?.resumeReading()
        }
        return count
    }

    func didClose(reason: TLSCloseReason) {
        server?.finish()
        server = nil
        onEnd()
    }

    // MARK: The server's side

    /// The delegate of the plaintext connection. It is a separate object, because its calls have the same names as the
    /// calls of the TLS connection's delegate.
    private final class ServerSide: TCPConnectionDelegate {
        private let relay: TLSRelay

        init(_ relay: TLSRelay) { self.relay = relay }

        func didReceive(_ bytes: UnsafeRawBufferPointer) { unsafe relay.serverDidSend(bytes) }
        func didBecomeWritable() { relay.tls.resumeReading() }
        func didClose(reason: TCPCloseReason) { relay.serverDidClose() }
    }

    private func serverDidSend(_ bytes: UnsafeRawBufferPointer) {
        unsafe pending.append(contentsOf: bytes)
        if pending.count - sentCount > Self.pendingBytesMax { server?.pauseReading() }
        tls.requestFill()
    }

    /// Sends the rest of the answer, and closes.
    private func serverDidClose() {
        server = nil
        tls.finish()
    }
}
