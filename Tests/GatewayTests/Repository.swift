import Foundation

/// The repository from which the tests were built. Some tests compare its pages or its sources with the gateway.
enum Repository {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Returns the content of a page of the operator's book, such as `sends.md`.
    static func bookPage(named name: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent("deploy/book/\(name)"), encoding: .utf8)
    }

    /// The folder with the sources of the gateway.
    static var gatewaySources: URL { root.appendingPathComponent("Sources/Stages/Gateway") }
}
