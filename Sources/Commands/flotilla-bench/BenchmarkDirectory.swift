internal import Glibc

/// The directory of one benchmark. It is removed at the end, unless a proof in it failed.
final class BenchmarkDirectory {
    let path: String
    private var isKept = false

    init() throws {
        var template = Array("/tmp/flotilla-bench-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw BenchmarkFailure("cannot create a directory in /tmp")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { if !isKept { Self.removeTree(at: path) } }

    /// Runs a proof in the directory. If it fails, the directory is kept.
    func runProof(_ proof: (_ path: String) throws -> Void) throws {
        do {
            try proof(path)
        } catch {
            isKept = true
            print("the files are kept in \(path)")
            throw error
        }
    }

    private static func removeTree(at path: String) {
        if let directory = unsafe opendir(path) {
            while let entry = unsafe readdir(directory) {
                let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                    unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { removeTree(at: path + "/" + name) }
            }
            unsafe closedir(directory)
        }
        unsafe Glibc.remove(path)
    }
}
