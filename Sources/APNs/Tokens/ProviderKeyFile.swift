internal import Cryptography
internal import Glibc
internal import Lifecycle

/// One key file as it was when it was read: the key, parsed once, and by what to see that the file is
/// another one now.
struct ProviderKeyFile {
    /// A look at a file that costs one system call.
    struct Stamp: Hashable {
        let device: UInt
        let inode: UInt
        let bytes: Int
        let changedSeconds: Int
        let changedNanoseconds: Int
    }

    let path: String
    let stamp: Stamp
    let key: SigningKey

    init(_ path: String) throws(ProviderKeyProblem) {
        self.path = path
        // The stamp first: a file that changes in between is read again.
        stamp = try ProviderKeyFile.stamp(path)
        do {
            key = try SigningKey(file: path)
        } catch {
            let isCertificate = error.description.contains("holds a certificate")
            throw ProviderKeyProblem(
                isCertificate ? "\(error); \(ProviderKeyFile.onlyKeys)" : error.description)
        }
    }

    private static let onlyKeys =
        "Live Activities go out with a key (.p8) alone, APNs takes no certificate for them: "
        + "make a key with the APNs service in the developer account and give its file"

    private static func isCertificate(_ path: String) -> Bool {
        [".p12", ".pfx", ".cer", ".crt", ".der"].contains { path.hasSuffix($0) }
    }

    static func stamp(_ path: String) throws(ProviderKeyProblem) -> Stamp {
        guard !ProviderKeyFile.isCertificate(path) else {
            throw ProviderKeyProblem("\(path) is a certificate; \(ProviderKeyFile.onlyKeys)")
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            throw ProviderKeyProblem("cannot read the provider key \(path): \(SystemError.words(for: errno))")
        }
        return Stamp(
            device: UInt(status.st_dev), inode: UInt(status.st_ino), bytes: Int(status.st_size),
            changedSeconds: status.st_ctim.tv_sec, changedNanoseconds: status.st_ctim.tv_nsec)
    }

    func isSameKey(as other: ProviderKeyFile) -> Bool { key.verifyingKey.pem == other.key.verifyingKey.pem }
}
