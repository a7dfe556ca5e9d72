internal import CLinux
internal import Glibc

/// The source of a PEM text: a file or memory.
package enum PEMSource: Sendable {
    /// The path of a file.
    case file(String)
    case text(String, name: String = "the given PEM")

    /// The limit of a file. No key, certificate chain or CA bundle is longer.
    private static let fileBytesMax = 4 * 1024 * 1024

    /// The path or the name, for messages.
    package var name: String {
        switch self {
        case .file(let path): path
        case .text(_, let name): name
        }
    }

    /// Reads the text.
    ///
    /// - Parameter isPrivate: Whether to refuse a file that users other than its owner and the owner's group
    ///   can read.
    package func read(isPrivate: Bool = false) throws(PEMError) -> SecretBytes {
        switch self {
        case .text(let text, _): return SecretBytes(copying: Array(text.utf8))
        case .file(let path): return try PEMSource.read(path: path, isPrivate: isPrivate)
        }
    }

    private static func read(path: String, isPrivate: Bool) throws(PEMError) -> SecretBytes {
        let (descriptor, size) = isPrivate ? try openSecret(at: path) : try open(at: path)
        defer { close(descriptor) }
        guard size <= fileBytesMax else {
            throw PEMError("\(path) has \(size) bytes: this is not a PEM file")
        }
        let secret = SecretBytes(count: size)
        var readBytes = 0
        while readBytes < secret.count {
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: secret.memory[readBytes...])
            let count = unsafe Glibc.read(descriptor, target.baseAddress, target.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw unreadableError(path: path, code: count < 0 ? errno : EIO) }
            readBytes += count
        }
        return secret
    }

    private static func openSecret(at path: String) throws(PEMError) -> (descriptor: Int32, bytes: Int) {
        do { return try SecretFile.open(at: path) } catch {
            throw PEMError("key \(path) \(error.reason)")
        }
    }

    private static func open(at path: String) throws(PEMError) -> (descriptor: Int32, bytes: Int) {
        // Without O_NONBLOCK the opening of a named pipe would wait for a writer.
        let descriptor = unsafe linux_open(path, O_RDONLY | O_NONBLOCK, 0)
        guard descriptor >= 0 else { throw unreadableError(path: path, code: errno) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw unreadableError(path: path, code: code)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw PEMError("\(path) is not a file")
        }
        return (descriptor, Int(status.st_size))
    }

    private static func unreadableError(path: String, code: Int32) -> PEMError {
        let cause = SecretFile.errorText(for: code)
        let remedy = code == EACCES ? "; run as the user that owns it" : ""
        return PEMError("cannot read \(path): \(cause)\(remedy)")
    }
}

extension SecretBytes {
    /// Reads a key file that only its owner and the owner's group may read.
    package static func read(file path: String) throws(PEMError) -> SecretBytes {
        try PEMSource.file(path).read(isPrivate: true)
    }
}
