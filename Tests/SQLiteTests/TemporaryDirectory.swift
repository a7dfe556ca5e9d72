import Foundation

/// A directory of one test, gone with it.
final class TemporaryDirectory {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "sqlite-" + UUID().uuidString
        precondition(mkdir(path, 0o700) == 0, "a temporary directory can be made")
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
