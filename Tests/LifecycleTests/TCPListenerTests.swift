import Glibc
import Testing

@testable import Lifecycle

/// A listener when the process has no free descriptors.
@Suite struct TCPListenerTests {
    @Test func `without descriptors the listener rejects peers, and with new ones it serves again`() async {
        await #expect(processExitsWith: .success) {
            try serveWithoutDescriptors()
        }
    }
}

/// Runs in a separate process, because the limit of open files applies to the whole process.
private func serveWithoutDescriptors() throws {
    let loop = try EventLoop(name: "scarce")
    try loop.start()
    let listener = try TCPListener(host: "127.0.0.1", port: 0, on: [loop], connectionsMax: 100) { Peer($0) }
    let clients = (0..<4).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
    // A few descriptors above the newest one, which the fillers then take.
    let descriptorsMax = rlim_t(clients[3]) + 20
    var limit = rlimit(rlim_cur: descriptorsMax, rlim_max: descriptorsMax)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var fillers: [Int32] = []
    while true {
        let filler = dup(clients[0])
        if filler < 0 { break }
        fillers.append(filler)
    }
    for client in clients[..<3] {
        connect(client, to: listener.port)
        // The wait is limited, because another thread of this process may have taken the descriptor that the
        // listener keeps for rejections.
        var waitLimit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &waitLimit, socklen_t(MemoryLayout<timeval>.size))
        var byte: UInt8 = 0
        // A rejected peer sees the end of the connection and does not hang.
        precondition(recv(client, &byte, 1, 0) == 0, "a peer must not hang")
    }
    for filler in fillers { close(filler) }
    connect(clients[3], to: listener.port)
    precondition(eventually { listener.connectionCount == 1 }, "the listener does not serve again")
    listener.stop()
    loop.stop()
}

private func connect(_ client: Int32, to port: Int) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    let loopback: UInt32 = 0x7f00_0001  // 127.0.0.1
    address.sin_addr.s_addr = loopback.bigEndian
    let code = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    precondition(code == 0, "connecting failed")
}
