internal import CLinux
internal import Glibc

/// A file that holds a secret: a key or a password. Only its owner and the owner's group may read it. The
/// group is necessary because Kubernetes mounts secrets for a group (`fsGroup`).
package enum SecretFile {
    /// An unusable file. `reason` follows the file's name in a message: "is not a file".
    package struct Problem: Error, Equatable {
        package let reason: String
    }

    /// The rights of users that are neither the owner nor in the owner's group.
    private static let othersMask: mode_t = 0o007

    /// Opens the file if its mode is acceptable. The caller closes the descriptor.
    package static func open(at path: String) throws(Problem) -> (descriptor: Int32, bytes: Int) {
        // Without O_NONBLOCK the opening of a named pipe would wait for a writer.
        let descriptor = unsafe linux_open(path, O_RDONLY | O_NONBLOCK, 0)
        guard descriptor >= 0 else { throw unreadableProblem(code: errno) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw unreadableProblem(code: code)
        }
        if let reason = reasonToRefuse(mode: status.st_mode) {
            close(descriptor)
            throw Problem(reason: reason)
        }
        return (descriptor, Int(status.st_size))
    }

    /// Reads the file, or returns nil if it is longer than `bytesMax`.
    package static func read(at path: String, bytesMax: Int) throws(Problem) -> [UInt8]? {
        let (descriptor, size) = try open(at: path)
        defer { close(descriptor) }
        guard size <= bytesMax else { return nil }
        var bytes = [UInt8](repeating: 0, count: size)
        var readBytes = 0
        while readBytes < size {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress! + readBytes, size - readBytes)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadableProblem(code: errno) }
            // The file became shorter after its size was read.
            if count == 0 { break }
            readBytes += count
        }
        return Array(bytes[..<readBytes])
    }

    private static func reasonToRefuse(mode: mode_t) -> String? {
        guard mode & S_IFMT == S_IFREG else { return "is not a file" }
        guard mode & othersMask != 0 else { return nil }
        let digits = String(mode & 0o777, radix: 8)
        return
            "can be read by others than its owner and the owner's group (mode \(digits)): remove the rights of others (chmod o= FILE)"
    }

    private static func unreadableProblem(code: Int32) -> Problem {
        let remedy = code == EACCES ? "; run as the user that owns it, or in its group" : ""
        return Problem(reason: "cannot be read: \(errorText(for: code))\(remedy)")
    }

    /// Returns the system's text for this error in lower case.
    static func errorText(for code: Int32) -> String {
        unsafe linux_error_words(code).map { unsafe String(cString: $0).lowercased() } ?? "error \(code)"
    }
}
