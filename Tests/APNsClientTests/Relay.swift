import Lifecycle

/// A TCP relay that stands for the network between a client and a server. It forwards bytes, and can inject faults into
/// a connection: break it after a number of bytes, or silently drop everything. The near end is the client's.
final class Relay: Sendable {
    private let run: RunningLoop
    private let listener: TCPListener
    private let state: TracedLock<[RelayedConnection]>

    var port: Int { listener.port }
    /// Number of connections accepted so far, including closed ones.
    var connectionCount: Int { state.withLock { $0.count } }

    /// - Parameter cuts: returns the number of bytes in both directions after which a connection breaks.
    ///   Connections are numbered from 1.
    init(
        to server: Int, port: Int = 0, cuts: @escaping @Sendable (_ number: Int) -> Int? = { _ in nil }
    ) throws {
        let run = try RunningLoop()
        let state = TracedLock<[RelayedConnection]>([])
        self.run = run
        self.state = state
        listener = try TCPListener(host: "127.0.0.1", port: port, on: [run.loop], connectionsMax: 1_000) {
            near in
            let number = state.withLock { $0.count } + 1
            let connection = RelayedConnection(near, to: server, bytesLeft: cuts(number) ?? .max)
            state.withLock { $0.append(connection) }
            return connection.nearEnd
        }
    }

    deinit { listener.stop() }

    /// Silently drops everything on these existing connections from now on.
    func dropEverything(on numbers: ClosedRange<Int>) {
        run.loop.execute { [state] in
            let connections = state.withLock { $0 }
            for number in numbers where number <= connections.count { connections[number - 1].isLost = true }
        }
    }
}

/// A connection of the relay, confined to the relay's loop.
private final class RelayedConnection: @unchecked Sendable {
    let nearEnd = RelayEnd()
    private let farEnd = RelayEnd()
    private let near: TCPConnection
    private let far: TCPConnection
    private var bytesLeft: Int
    var isLost = false

    init(_ near: TCPConnection, to server: Int, bytesLeft: Int) {
        self.near = near
        self.bytesLeft = bytesLeft
        far = TCPConnection.connect(
            host: "127.0.0.1", port: server, on: near.loop,
            deadline: near.loop.now.advanced(byMilliseconds: 30_000), delegate: farEnd)
        nearEnd.serve(self, other: far)
        farEnd.serve(self, other: near)
    }

    /// Forwards bytes up to the limit, and then resets both ends.
    func forward(_ bytes: UnsafeRawBufferPointer, to other: TCPConnection) {
        guard !isLost else { return }
        let count = min(bytes.count, bytesLeft)
        bytesLeft -= count
        other.sendNow(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        guard bytesLeft == 0 else { return }
        near.reset()
        far.reset()
    }

    /// Closes the other end, unless the connection drops everything.
    func closeOther(_ other: TCPConnection) { if !isLost { other.close() } }
}

/// One end of a relayed connection.
private final class RelayEnd: TCPConnectionDelegate {
    private var connection: RelayedConnection?
    private var other: TCPConnection?

    /// Begins to pass bytes to the other end. The references form a cycle, which `didClose` breaks.
    func serve(_ connection: RelayedConnection, other: TCPConnection) {
        self.connection = connection
        self.other = other
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer) {
        if let other { connection?.forward(bytes, to: other) }
    }

    func didBecomeWritable() {}

    func didClose(reason: TCPCloseReason) {
        if let other { connection?.closeOther(other) }
        connection = nil
        other = nil
    }
}
