internal import Foundation

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
