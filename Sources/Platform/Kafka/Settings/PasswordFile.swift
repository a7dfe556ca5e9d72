internal import Cryptography

/// A file with one password.
enum PasswordFile {
    static let bytesMax = 64 * 1024

    /// Returns the file's text without the newline at its end, or nil if the file is unusable.
    static func read(at path: String) -> String? {
        guard var bytes = try? SecretFile.read(at: path, bytesMax: bytesMax) else { return nil }
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
            bytes.removeLast()
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the reason that the file is unusable, or nil.
    static func problem(at path: String) -> String? {
        do {
            let bytes = try SecretFile.read(at: path, bytesMax: bytesMax)
            return bytes == nil ? "is longer than \(bytesMax) bytes" : nil
        } catch {
            return error.reason
        }
    }
}
