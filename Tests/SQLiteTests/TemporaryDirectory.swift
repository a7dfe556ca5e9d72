import Foundation

/// A directory of one test, deleted with its object.
final class TemporaryDirectory {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "sqlite-" + UUID().uuidString
        precondition(mkdir(path, 0o700) == 0, "the test needs a temporary directory")
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
