import Glibc
import Synchronization

@testable import Broker

/// A directory of its own for one test, removed with everything in it.
final class TestDirectory {
    let path: String

    init() {
        var template = Array("/tmp/broker-log-XXXXXX".utf8CString)
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
