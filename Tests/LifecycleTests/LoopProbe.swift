import Glibc
import Synchronization

@testable import Lifecycle

/// A running loop that stops when the test releases it.
final class RunningLoop: Sendable {
    let loop: EventLoop

    init(_ name: String = "test", jobsMax: Int = EventLoop.jobsMax) throws {
        loop = try EventLoop(name: name, jobsMax: jobsMax)
        try loop.start()
    }

    deinit { loop.stop() }
}

/// A count that several threads use.
final class SharedCount: Sendable {
    private let count = Mutex(0)
    func increment() { count.withLock { $0 += 1 } }
    var value: Int { count.withLock { $0 } }
}

/// Waits until another thread makes the fact true. Returns false if that takes too long.
func eventually(within milliseconds: Int = 5_000, _ fact: () -> Bool) -> Bool {
    let deadline = Instant.now().advanced(byMilliseconds: milliseconds)
    while !fact() {
        if Instant.now() > deadline { return false }
        usleep(500)
    }
    return true
}

/// One end of a connection, as its delegate. It records the calls of the connection, and reacts as a test configures
/// it.
final class Peer: TCPConnectionDelegate, Sendable {
    /// The calls of the connection until now.
    struct State {
        var isConnected = false
        /// The received bytes, if the peer keeps them.
        var bytes: [UInt8] = []
        var receivedByteCount = 0
        /// The number of calls that brought bytes.
        var pieceCount = 0
        /// The number of calls that said that the connection takes bytes again.
        var writableCount = 0
        var inputEndCount = 0
        /// The reasons of the closes. There must be one.
        var closeReasons: [String] = []
    }

    let state = Mutex(State())
    private let connection = TracedLock<TCPConnection?>(nil)
    private let keepsBytes: Bool
    let onReceived: @Sendable (TCPConnection, UnsafeRawBufferPointer) -> Void
    let onWritable: @Sendable (TCPConnection) -> Void
    let onInputEnded: @Sendable (TCPConnection) -> Void

    init(
        _ connection: TCPConnection? = nil, keepsBytes: Bool = true,
        onReceived: @escaping @Sendable (TCPConnection, UnsafeRawBufferPointer) -> Void = { _, _ in },
        onWritable: @escaping @Sendable (TCPConnection) -> Void = { _ in },
        onInputEnded: @escaping @Sendable (TCPConnection) -> Void = { _ in }
    ) {
        self.connection.withLock { $0 = connection }
        self.keepsBytes = keepsBytes
        self.onReceived = onReceived
        self.onWritable = onWritable
        self.onInputEnded = onInputEnded
    }

    var tcp: TCPConnection { connection.withLock { $0! } }
    func attach(_ tcp: TCPConnection) { connection.withLock { $0 = tcp } }
    func read<T>(_ path: (State) -> T) -> T { state.withLock { path($0) } }

    func didConnect() { state.withLock { $0.isConnected = true } }
    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        state.withLock {
            if keepsBytes { $0.bytes += bytes }
            $0.receivedByteCount += bytes.count
            $0.pieceCount += 1
        }
        onReceived(tcp, bytes)
    }
    func didBecomeWritable() {
        state.withLock { $0.writableCount += 1 }
        onWritable(tcp)
    }
    func inputDidEnd() {
        state.withLock { $0.inputEndCount += 1 }
        onInputEnded(tcp)
    }
    func didClose(reason: TCPCloseReason) {
        state.withLock { $0.closeReasons.append(reason.description) }
        connection.withLock { $0 = nil }
    }

    /// Starts to connect the client's end.
    static func connect(
        port: Int, host: String = "127.0.0.1", on loop: EventLoop, milliseconds: Int = 5_000,
        options: TCPOptions = TCPOptions(), as peer: Peer = Peer()
    ) -> Peer {
        _ = loop.perform {
            let deadline = Instant.now().advanced(byMilliseconds: milliseconds)
            peer.attach(
                TCPConnection.connect(
                    host: host, port: port, on: loop, deadline: deadline, options: options, delegate: peer))
        }
        return peer
    }
}
