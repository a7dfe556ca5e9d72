internal import CLinux
internal import Glibc
internal import Lifecycle

/// Writes the files of `SimulatorCredentials`, and finds the id of an existing key.
enum CredentialFile {
    /// Writes a file atomically: a process that is killed leaves either the whole file or none.
    /// - Parameter mode: the permissions of the new file.
    static func write(_ text: String, to path: String, mode: UInt32) throws {
        let temporaryPath = path + ".new"
        _ = unsafe unlink(temporaryPath)
        let descriptor = unsafe linux_open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL, mode)
        guard descriptor >= 0 else { throw SystemError(action: "write \(path)", code: errno) }
        let code = writeAndSync(Array(text.utf8), to: descriptor)
        close(descriptor)
        guard code == 0 else { throw SystemError(action: "write \(path)", code: code) }
        guard unsafe rename(temporaryPath, path) == 0 else {
            throw SystemError(action: "write \(path)", code: errno)
        }
    }

    /// Returns 0, or the error number of the failed system call.
    private static func writeAndSync(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        let writtenCount = unsafe Glibc.write(descriptor, bytes, bytes.count)
        if writtenCount < 0 { return errno }
        // Only a full disk shortens the write of a small file.
        if writtenCount < bytes.count { return ENOSPC }
        return fsync(descriptor) == 0 ? 0 : errno
    }

    /// Returns the id of a key in a directory, which is in the name of its file: `AuthKey_<id>.p8`. With
    /// several keys it returns the id that is first in alphabetical order, and nil without a key.
    static func existingKeyID(in directory: String) throws -> String? {
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
