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
    let table = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
    for line in table.split(separator: "\n").dropFirst() {
        let columns = line.split(separator: " ")
        guard columns.count > 9, columns[3] == "0A", sockets.contains("socket:[\(columns[9])]") else {
            continue
        }
        return columns[1].split(separator: ":").last.flatMap { Int($0, radix: 16) }
    }
    return nil
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

/// A port that nobody has now: for what must come back where it was. Another process may be faster.
package func freePort() throws -> Int {
    struct NoPort: Error {}
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard socket >= 0 else { throw NoPort() }
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = unsafe withUnsafeMutablePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            unsafe bind(socket, address, length) == 0 ? getsockname(socket, address, &length) : -1
        }
    }
    guard code == 0 else { throw NoPort() }
    return Int(UInt16(bigEndian: address.sin_port))
}
