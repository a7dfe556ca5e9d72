internal import Cryptography

/// A push token. It is a secret: with it and the app's key, anyone can write to that lock screen. It prints
/// only as `tok:` and the first digits of its hash.
///
/// Apple guarantees no length. Known tokens have 32 and 80 bytes. Any even number of digits up to the limit
/// is accepted.
package struct PushToken: Sendable, Hashable {
    package static let bytesMax = 256

    package let bytes: [UInt8]

    @inlinable
    package init?(hex digits: some Collection<UInt8>) {
        guard !digits.isEmpty, digits.count <= 2 * PushToken.bytesMax, let bytes = Hex.decode(digits) else {
            return nil
        }
        self.bytes = bytes
    }

    package init?(hex digits: Span<UInt8>) {
        guard !digits.isEmpty, digits.count <= 2 * PushToken.bytesMax, let bytes = Hex.decode(digits) else {
            return nil
        }
        self.bytes = bytes
    }

    /// Replaces the buffer's content with the token's bytes. Returns false if the digits are not a token.
    package static func decode(hex digits: Span<UInt8>, into buffer: inout [UInt8]) -> Bool {
        !digits.isEmpty && digits.count <= 2 * bytesMax && Hex.decode(digits, into: &buffer)
    }

    @inlinable
    package init?(hex text: some StringProtocol) {
        let made = text.utf8.withContiguousStorageIfAvailable { unsafe PushToken(hex: $0) }
        guard let token = made ?? PushToken(hex: Array(text.utf8)) else { return nil }
        self = token
    }

    /// Whether the digits can form a token.
    package static func isValid(hex digits: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !digits.isEmpty, digits.count <= 2 * bytesMax, digits.count.isMultiple(of: 2) else {
            return false
        }
        return unsafe Hex.areHex(UnsafeRawBufferPointer(digits))
    }

    package init?(bytes: [UInt8]) {
        guard (1...PushToken.bytesMax).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    /// Lowercase digits, as the path of a push needs them. Never log them.
    package var hex: [UInt8] { Hex.encode(bytes) }

    /// Returns the short form of a token for people, in the format of `description`.
    ///
    /// - Parameter hash: in hexadecimal.
    package static func shortForm(hash: String) -> String { "tok:\(hash.prefix(8))" }

    /// The error message for a report with a malformed token.
    package static let formatProblem =
        "must be hexadecimal, an even number of digits, at most \(2 * bytesMax)"
}

extension PushToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        "tok:" + String(decoding: Hex.encode(SHA256.digest(of: bytes).prefix(4)), as: UTF8.self)
    }
    package var debugDescription: String { description }
    /// A mirror without the bytes, so that a debug dump cannot show them.
    package var customMirror: Mirror { Mirror(self, children: ["token": description]) }
}
