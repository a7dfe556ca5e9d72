internal import Foundation
internal import Glibc

/// The directory of one benchmark. It is removed at the end, unless a proof in it failed.
final class BenchmarkDirectory {
    let path: String
    private var isKept = false

    init(in parent: String = "/tmp") throws {
        var template = Array((parent + "/flotilla-bench-XXXXXX").utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw BenchmarkFailure("cannot create a directory in \(parent)")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { if !isKept { try? FileManager.default.removeItem(atPath: path) } }

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
}
