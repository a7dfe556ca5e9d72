internal import Foundation

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
        // The kernel's number of TCP_LISTEN.
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
