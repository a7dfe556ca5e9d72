internal import Foundation

/// Returns the text of a file of this repository, such as `deploy/book/ingest.md`.
package func repositoryText(_ path: String) throws -> String {
    // This file is `Tests/Support/ProcessTesting/RepositoryFile.swift`.
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
}
