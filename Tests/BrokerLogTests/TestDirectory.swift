import Glibc
import Synchronization

@testable import Broker

/// A directory for one test, which removes it with all its files.
final class TestDirectory {
    let path: String

    /// - Parameter inMemory: Whether the files are in memory, where a sync costs nothing. Tests with thousands of
    ///   runs need it.
    init(inMemory: Bool = false) {
        let parent = inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/broker-log-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template)!)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        guard let names = try? Disk().names(in: path) else {
            unlink(path)
            return
        }
        for name in names { remove(path + "/" + name) }
        rmdir(path)
    }
}
