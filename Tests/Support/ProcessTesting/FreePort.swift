internal import Foundation
internal import Glibc

/// Returns a free port, for a process that must restart on the same port. It is outside the range of outgoing
/// connections. Otherwise a connection attempt to the stopped process could get this port as its own and hold it.
package func freePort() throws -> Int {
    struct NoPort: Error {}
    let attemptsMax = 1_000
    for _ in 0..<attemptsMax {
        let port = Int.random(in: 10_000..<firstOutgoingPort())
        if isFree(port: port) { return port }
    }
    throw NoPort()
}

/// Returns the first port that the system gives to outgoing connections, but at least 11,000, so that `freePort` has
/// some to choose from.
private func firstOutgoingPort() -> Int {
    let range = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
    let first = range?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    return max(first ?? 32_768, 11_000)
}

/// Whether a process accepts connections on the port.
package func isServed(port: Int) -> Bool { unsafe canUse(port: port) { unsafe connect($0, $1, $2) } }

private func isFree(port: Int) -> Bool { unsafe canUse(port: port) { unsafe bind($0, $1, $2) } }

/// Calls `bind` or `connect` with a new socket and the port on this machine. Returns whether the call succeeds.
private func canUse(
    port: Int, by use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Bool {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard socket >= 0 else { return false }
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    address.sin_port = UInt16(port).bigEndian
    return unsafe withUnsafePointer(to: address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            unsafe use(socket, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
