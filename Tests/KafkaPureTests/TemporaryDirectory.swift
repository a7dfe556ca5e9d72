import Glibc

/// A directory that is gone after the test.
final class TemporaryDirectory {
    let path: String

    init() {
        var template = Array("/tmp/flotilla-test-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template)!)
    }

    deinit { Self.remove(path) }

    func write(_ name: String, _ text: String) -> String {
        let file = fopen(path + "/" + name, "w")!
        fputs(text, file)
        fclose(file)
        return path + "/" + name
    }

    static func remove(_ path: String) {
        if let directory = opendir(path) {
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
                }
                if name != "." && name != ".." { remove(path + "/" + name) }
            }
            closedir(directory)
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}
