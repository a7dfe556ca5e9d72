internal import Foundation
internal import ProcessTesting

/// The content of state files, read by the independent tool `mdb_dump`.
package struct FleetState {
    /// Values by key, by the names of a file and its table.
    private var tables: [String: [Substring: Substring]] = [:]
    /// A table with offsets and times instead of content.
    private static let appliedTableSuffix = ".applied"

    init(under directory: String) async throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: directory)
        for file in files where file.hasSuffix("/data.mdb") {
            let place = String(file.dropLast("/data.mdb".count))
            let dump = try ChildProcess("mdb_dump", arguments: ["-a", "\(directory)/\(place)"])
            guard try await dump.exitStatus() == 0 else { throw FleetFailure(dump.errors) }
            parse(dump.output, of: place)
        }
    }

    /// Parses a dump. Keys and values are on alternate lines and start with a space. No other line does.
    private mutating func parse(_ dump: String, of file: String) {
        var table = ""
        var key: Substring?
        for line in dump.split(separator: "\n") {
            if line.hasPrefix("database=") {
                table = "\(file) \(line.dropFirst("database=".count))"
                if !table.hasSuffix(Self.appliedTableSuffix) { tables[table] = [:] }
            } else if line.hasPrefix(" ") {
                if let known = key { tables[table]?[known] = line }
                key = key == nil ? line : nil
            }
        }
    }

    package var rowCount: Int { tables.values.reduce(0) { $0 + $1.count } }

    /// Returns the differences as texts.
    package func differences(from other: FleetState) -> [String] {
        Set(tables.keys).union(other.tables.keys).sorted().compactMap { name in
            let (mine, others) = (tables[name] ?? [:], other.tables[name] ?? [:])
            let differing = Set(mine.keys).union(others.keys).filter { mine[$0] != others[$0] }
            guard let one = differing.min() else { return nil }
            return """
                \(name): \(differing.count) of \(others.count) rows, as\(one) has\(mine[one] ?? " nothing"), \
                not\(others[one] ?? " anything")
                """
        }
    }
}
