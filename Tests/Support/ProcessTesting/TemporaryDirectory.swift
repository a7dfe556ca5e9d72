internal import Foundation

/// An empty directory for one test. It is removed together with this object.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        path =
            FileManager.default.temporaryDirectory.appendingPathComponent("flotilla-\(UUID().uuidString)")
            .path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Returns the path of a file in it.
    package func filePath(named name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path.
    package func writeFile(named name: String, content text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: filePath(named: name)))
        // Files with secrets must not be readable by others, and any file of a test may contain one.
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: filePath(named: name))
        return filePath(named: name)
    }
}
