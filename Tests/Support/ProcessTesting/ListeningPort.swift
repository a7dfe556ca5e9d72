internal import Foundation
internal import Glibc

/// Returns the TCP port on which a process listens, so that the system can choose the port. Returns nil if it
/// does not listen yet.
package func listeningPort(of processID: Int32) -> Int? {
    let directory = "/proc/\(processID)/fd"
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    // Each descriptor is a symbolic link. The target of a socket is "socket:[INODE]".
    let linkTargets = Set(
        descriptors.compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")
        })
    for line in connectionTable().split(separator: "\n").dropFirst() {
        let columns = line.split(separator: " ")
        guard columns.count > 9 else { continue }
        let (localAddress, state, inode) = (columns[1], columns[3], columns[9])
        let isListening = state == "0A"
        guard isListening, linkTargets.contains("socket:[\(inode)]") else { continue }
        return localAddress.split(separator: ":").last.flatMap { Int($0, radix: 16) }
    }
    return nil
}

/// Returns all TCP connections of the machine as the kernel's table: a head, then a line for each connection. It reads
/// in a loop, because Foundation reads only one page of a file without a size.
private func connectionTable() -> String {
    guard let file = FileHandle(forReadingAtPath: "/proc/net/tcp") else { return "" }
    defer { try? file.close() }
    var text = Data()
    while let part = try? file.read(upToCount: 65_536), !part.isEmpty { text += part }
    return String(decoding: text, as: UTF8.self)
}

extension ChildProcess {
    /// Waits until the process listens on a port, and returns the port.
    package func listeningPort() async throws -> Int {
        var port: Int?
        try await eventually("a listening port of process \(processID)") {
            port = ProcessTesting.listeningPort(of: self.processID)
            return port != nil
        }
        return port ?? 0
    }
}

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

/// Returns the first port that the system gives to outgoing connections, but at least 11,000.
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
