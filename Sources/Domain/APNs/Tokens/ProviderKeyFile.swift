internal import Cryptography
internal import Glibc
internal import Lifecycle

/// A file with a signing key (`AuthKey_….p8`), as it was read: the key, and a stamp that detects a changed file.
struct ProviderKeyFile {
    /// The state of a file by `stat`. If the content changes, the stamp changes.
    struct FileStamp: Hashable {
        let device: UInt
        let inode: UInt
        let bytes: Int
        let changedSeconds: Int
        let changedNanoseconds: Int
    }

    let path: String
    let stamp: FileStamp
    let key: SigningKey

    init(path: String) throws(ProviderKeyError) {
        self.path = path
        // Take the stamp first. If the file changes before it is read, it is read again later.
        stamp = try ProviderKeyFile.readStamp(of: path)
        do {
            key = try SigningKey(file: path)
        } catch {
            // A file with another name can hold a certificate too. `SigningKey` reports it with this text.
            let isCertificate = error.description.contains("holds a certificate")
            throw ProviderKeyError(
                isCertificate ? "\(error); \(ProviderKeyFile.certificateRemedy)" : error.description)
        }
    }

    private static let certificateRemedy =
        "Live Activities need a key (.p8), because APNs accepts no certificate for them; "
        + "create a key with the APNs service in the developer account and use its file"

    /// Whether the path ends with a suffix of certificate files.
    private static func isCertificate(path: String) -> Bool {
        [".p12", ".pfx", ".cer", ".crt", ".der"].contains { path.hasSuffix($0) }
    }

    /// Returns the current stamp of a file. Throws if it cannot be read or is a certificate.
    static func readStamp(of path: String) throws(ProviderKeyError) -> FileStamp {
        guard !ProviderKeyFile.isCertificate(path: path) else {
            throw ProviderKeyError("\(path) is a certificate; \(ProviderKeyFile.certificateRemedy)")
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            throw ProviderKeyError("cannot read the provider key \(path): \(SystemError.text(for: errno))")
        }
        return FileStamp(
            device: UInt(status.st_dev), inode: UInt(status.st_ino), bytes: Int(status.st_size),
            changedSeconds: status.st_ctim.tv_sec, changedNanoseconds: status.st_ctim.tv_nsec)
    }

    func hasSameKey(as other: ProviderKeyFile) -> Bool { key.verifyingKey.pem == other.key.verifyingKey.pem }
}
