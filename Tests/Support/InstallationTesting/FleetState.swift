internal import Foundation
internal import ProcessTesting

/// The rows in the state files of a process, read by `mdb_dump`, LMDB's own tool.
package struct FleetState {
    /// The ends of the names of tables without content, which are left out: progress of a topic (`.applied`), and past
    /// changes (the table `reported`; the space is the one in `FILE TABLE`).
    private static let suffixesWithoutContent = [".applied", " reported"]

    /// The rows of each table, named `FILE TABLE`: values by key. Keys and values are hexadecimal text, with the space
    /// that `mdb_dump` writes before them.
    private var tables: [String: [Substring: Substring]] = [:]

    init(under directory: String) async throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: directory)
        for file in files where file.hasSuffix("/data.mdb") {
            let environment = String(file.dropLast("/data.mdb".count))
            let dump = try ChildProcess("mdb_dump", arguments: ["-a", "\(directory)/\(environment)"])
            guard try await dump.exitStatus() == 0 else { throw FleetFailure(dump.errors) }
            parse(dump.output, of: environment)
        }
    }

    /// Parses a dump. Keys and values are on alternate lines and start with a space. No other line does.
    private mutating func parse(_ dump: String, of file: String) {
        var table = ""
        var key: Substring?
        for line in dump.split(separator: "\n") {
            if line.hasPrefix("database=") {
                table = "\(file) \(line.dropFirst("database=".count))"
                let hasContent = !Self.suffixesWithoutContent.contains { table.hasSuffix($0) }
                if hasContent { tables[table] = [:] }
            } else if line.hasPrefix(" ") {
                if let finishedKey = key {
                    tables[table]?[finishedKey] = line
                    key = nil
                } else {
                    key = line
                }
            }
        }
    }

    package var rowCount: Int { tables.values.reduce(0) { $0 + $1.count } }

    /// Returns a text for each table that differs.
    package func differences(from other: FleetState) -> [String] {
        Set(tables.keys).union(other.tables.keys).sorted().compactMap { name in
            let (rows, otherRows) = (tables[name] ?? [:], other.tables[name] ?? [:])
            let differingKeys = Set(rows.keys).union(otherRows.keys).filter { rows[$0] != otherRows[$0] }
            guard let firstKey = differingKeys.min() else { return nil }
            // Keys and values begin with a space.
            return """
                \(name): \(differingKeys.count) of \(otherRows.count) rows differ. Key\(firstKey):\
                \(rows[firstKey] ?? " nothing") instead of\(otherRows[firstKey] ?? " nothing")
                """
        }
    }
}
