internal import Foundation
internal import Glibc

/// The TCP port on which a process listens, so that the system can choose it; nil as long as there is none.
package func listeningPort(of identifier: Int32) -> Int? {
    let directory = "/proc/\(identifier)/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    let sockets = Set(
        names.compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")
        })
    for line in connectionTable().split(separator: "\n").dropFirst() {
        let columns = line.split(separator: " ")
        guard columns.count > 9, columns[3] == "0A", sockets.contains("socket:[\(columns[9])]") else {
            continue
        }
        return columns[1].split(separator: ":").last.flatMap { Int($0, radix: 16) }
    }
    return nil
}

/// All connections of the machine, in the kernel's columns. Foundation reads a page of what has no size, and nothing
/// behind it.
private func connectionTable() -> String {
    guard let file = FileHandle(forReadingAtPath: "/proc/net/tcp") else { return "" }
    defer { try? file.close() }
    var text = Data()
    while let part = try? file.read(upToCount: 65_536), !part.isEmpty { text += part }
    return String(decoding: text, as: UTF8.self)
}

extension ChildProcess {
    /// Waits until the process listens.
    package func listeningPort() async throws -> Int {
        var port: Int?
        try await eventually("a listening port of process \(identifier)") {
            port = ProcessTesting.listeningPort(of: self.identifier)
            return port != nil
        }
        return port ?? 0
    }
}

/// A port that nobody has now: for what must come back where it was. It is none of those that the system gives to
/// outgoing connections: one that tries to reach who is away could come from that very port, and would hold it.
package func freePort() throws -> Int {
    struct NoPort: Error {}
    for _ in 0..<1_000 {
        let port = Int.random(in: 10_000..<firstOutgoingPort())
        if isFree(port) { return port }
    }
    throw NoPort()
}

private func firstOutgoingPort() -> Int {
    let range = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_local_port_range", encoding: .utf8)
    let first = range?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    return max(first ?? 32_768, 11_000)
}

/// Whether somebody takes connections there.
package func isServed(_ port: Int) -> Bool { unsafe canUse(port) { unsafe connect($0, $1, $2) } }

private func isFree(_ port: Int) -> Bool { unsafe canUse(port) { unsafe bind($0, $1, $2) } }

private func canUse(
    _ port: Int, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
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
