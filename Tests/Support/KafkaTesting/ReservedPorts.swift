internal import Glibc
internal import Synchronization

/// The reserved ports of brokers that are down. The library ends the process if a returning broker cannot get
/// its port. In the meantime the system can give the port to an outgoing connection. So each port is held by
/// a socket that does not listen. A listener can still bind to the port, and no other socket can.
final class ReservedPorts: Sendable {
    private let sockets = Mutex<[Int32: Int32]>([:])

    deinit {
        sockets.withLock { sockets in
            for descriptor in sockets.values { close(descriptor) }
        }
    }

    /// - Parameter address: The address `host:port`, on this machine.
    func reservePort(ofBroker broker: Int32, at address: String) {
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else { return }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        var on: Int32 = 1
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var local = sockaddr_in()
        local.sin_family = sa_family_t(AF_INET)
        local.sin_port = port.bigEndian
        local.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isBound = unsafe withUnsafeBytes(of: &local) { bytes in
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
