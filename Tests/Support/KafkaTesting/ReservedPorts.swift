internal import Glibc
internal import Synchronization

/// The ports of the mock cluster's brokers that are down. The library ends the process if a returning broker cannot get
/// its port, and without a reservation the system could give the port to an outgoing connection. So a socket that does
/// not listen is bound to each port. A listener can still bind to the port, and no other socket can.
final class ReservedPorts: Sendable {
    /// The descriptor of the bound socket, by the broker's number.
    private let sockets = Mutex<[Int32: Int32]>([:])

    deinit {
        sockets.withLock { sockets in
            for descriptor in sockets.values { close(descriptor) }
        }
    }

    /// Reserves a port until `releasePort`. Does nothing if the system refuses, because a test rarely needs it.
    ///
    /// - Parameter address: The address `host:port`, on this machine.
    func reservePort(ofBroker broker: Int32, at address: String) {
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else { return }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        var isReusable: Int32 = 1
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusable, socklen_t(MemoryLayout<Int32>.size))
        var loopback = sockaddr_in()
        loopback.sin_family = sa_family_t(AF_INET)
        loopback.sin_port = port.bigEndian
        loopback.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let isBound = unsafe withUnsafeBytes(of: &loopback) { bytes in
            unsafe bind(
                descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
                socklen_t(bytes.count)) == 0
        }
        guard isBound else {
            close(descriptor)
            return
        }
        releasePort(ofBroker: broker)
        sockets.withLock { $0[broker] = descriptor }
    }

    func releasePort(ofBroker broker: Int32) {
        if let descriptor = sockets.withLock({ $0.removeValue(forKey: broker) }) { close(descriptor) }
    }
}
