import Glibc
import Synchronization

@testable import Lifecycle

/// The result of a connector, for another thread.
final class ConnectResult: Sendable {
    private let result = Mutex<Result<Int32, TCPConnector.ConnectFailure>?>(nil)

    func withLock<T: Sendable>(
        _ body: (inout sending Result<Int32, TCPConnector.ConnectFailure>?) -> sending T
    ) -> T { result.withLock(body) }
}

/// A socket on 127.0.0.2 that listens and never answers: its queue of connections is full, so Linux drops further
/// requests.
struct SilentListener {
    private let listener: Int32
    private var clients: [Int32] = []
    private let port: Int

    init(port: Int) throws {
        self.port = port
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let address = try SocketAddress.resolve(host: "127.0.0.2", port: port, numericOnly: true).get()[0]
        let listener = listener
        precondition(address.withPointer { bind(listener, $0, $1) } == 0, "cannot bind 127.0.0.2:\(port)")
        precondition(listen(listener, 0) == 0)
        // A queue of length 0 takes one connection. More clients do no harm: they wait without an answer.
        for _ in 0..<3 {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            _ = address.withPointer { connect(client, $0, $1) }
            clients.append(client)
        }
    }

    var address: SocketAddress {
        get throws {
            try SocketAddress.resolve(host: "127.0.0.2", port: port, numericOnly: true).get()[0]
        }
    }

    func close() {
        for client in clients + [listener] { Glibc.close(client) }
    }
}
