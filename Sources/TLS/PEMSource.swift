internal import CLinux
internal import Glibc
internal import Lifecycle

/// Where PEM text comes from; `name` is what sentences call it.
package enum PEMSource: Sendable {
    case file(String)
    case text(String, name: String = "the given PEM")

    /// No key, certificate chain or CA bundle is longer: a larger file is the wrong file.
    private static let bytesMax = 4 * 1024 * 1024

    var name: String {
        switch self {
        case .file(let path): path
        case .text(_, let name): name
        }
    }

    /// - Parameter isPrivate: refuse a file that others than its owner can read.
    func read(isPrivate: Bool = false) throws(TLSSettingsError) -> SecretBytes {
        switch self {
        case .text(let text, _): return SecretBytes(Array(text.utf8))
        case .file(let path): return try PEMSource.read(path, isPrivate)
        }
    }

    private static func read(_ path: String, _ isPrivate: Bool) throws(TLSSettingsError) -> SecretBytes {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw unreadable(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw TLSSettingsError("\(path) is not a file") }
        let mode = status.st_mode & 0o777
        if isPrivate, mode & 0o077 != 0 {
            throw TLSSettingsError(
                "key \(path) can be read by others than its owner (mode \(String(mode, radix: 8))): chmod 600 \(path)"
            )
        }
        guard status.st_size <= bytesMax else {
            throw TLSSettingsError("\(path) has \(status.st_size) bytes: that is no PEM file")
        }
        let secret = SecretBytes(count: Int(status.st_size))
        var filled = 0
        while filled < secret.count {
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: secret.memory[filled...])
            let count = unsafe Glibc.read(descriptor, target.baseAddress, target.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw unreadable(path, count < 0 ? errno : EIO) }
            filled += count
        }
        return secret
    }

    private static func unreadable(_ path: String, _ code: Int32) -> TLSSettingsError {
        let words = SystemError.words(for: code)
        let remedy = code == EACCES ? "; run as the user that owns it" : ""
        return TLSSettingsError("cannot read \(path): \(words)\(remedy)")
    }
}
