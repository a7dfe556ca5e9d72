internal import Glibc
internal import JSON
package import Lifecycle

/// A script that cannot be begun with: which file, and everything that is wrong with it.
package struct ScriptFileError: Fatal {
    package let description: String
    package var exitStatus: ExitStatus { .dataError }
}

enum ScriptFile {
    static func read(_ path: String) throws -> Script {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw SystemError("read the script \(path)", code: errno) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Script.limits.bytesMax + 1)
        var count = 0
        while count < bytes.count {
            let more = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(file, buffer.baseAddress! + count, buffer.count - count)
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw SystemError("read the script \(path)", code: errno) }
            if more == 0 { break }
            count += more
        }
        do {
            return try Script(Array(bytes.prefix(count)), with: JSONReader(limits: Script.limits))
        } catch {
            let problems = error.problems.map { "the script \(path): \($0)" }
            throw ScriptFileError(description: problems.joined(separator: "\n"))
        }
    }
}
