internal import Foundation

/// The repository from which the tests were built. Some tests read its pages, scripts and sources.
package enum Repository {
    /// This file is `Tests/Support/ProcessTesting/Repository.swift`.
    private static let root = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { folder, _ in
        folder.deletingLastPathComponent()
    }

    /// Returns the path of a file or folder, with links resolved, because a listing of a folder does not follow a link.
    package static func path(of name: String) -> String {
        root.appendingPathComponent(name).resolvingSymlinksInPath().path
    }

    /// Returns the content of a file, such as `deploy/book/ingest.md`.
    package static func text(of name: String) throws -> String {
        try String(contentsOfFile: path(of: name), encoding: .utf8)
    }
}
