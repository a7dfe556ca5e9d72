internal import CLinux
internal import Glibc
internal import Lifecycle

/// The credential files that the simulator writes.
enum CredentialFile {
    /// Writes a file atomically. A killed process leaves no partial key under the name.
    static func write(_ text: String, to path: String, mode: UInt32) throws {
        let draft = path + ".new"
        _ = unsafe unlink(draft)
        let file = unsafe linux_open(draft, O_WRONLY | O_CREAT | O_EXCL, mode)
        guard file >= 0 else { throw SystemError(action: "write \(path)", code: errno) }
        let bytes = Array(text.utf8)
        let written = unsafe Glibc.write(file, bytes, bytes.count)
        let code = written == bytes.count ? (fsync(file) == 0 ? 0 : errno) : (written < 0 ? errno : ENOSPC)
        close(file)
        guard code == 0 else { throw SystemError(action: "write \(path)", code: code) }
        guard unsafe rename(draft, path) == 0 else { throw SystemError(action: "write \(path)", code: errno) }
    }

    /// Returns the id of the first key in a directory.
    static func keyID(in directory: String) throws -> String? {
        guard let listing = unsafe opendir(directory) else {
            throw SystemError(
                action: "read \(directory)", code: errno, remedy: "create the directory or choose another")
        }
        defer { unsafe closedir(listing) }
        var ids: [String] = []
        while let entry = unsafe readdir(listing) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { continue }
            ids.append(String(name.dropFirst("AuthKey_".count).dropLast(".p8".count)))
        }
        return ids.min()
    }
}
