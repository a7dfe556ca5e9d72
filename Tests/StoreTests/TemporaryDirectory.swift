import Foundation

/// A directory of one test, removed after it.
final class TemporaryDirectory {
    let path: String

    init() {
        path = NSTemporaryDirectory() + "store-" + UUID().uuidString
        precondition(mkdir(path, 0o700) == 0, "mkdir failed")
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
