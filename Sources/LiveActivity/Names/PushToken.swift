internal import Cryptography

/// A push token: a secret, because whoever has it and the app's key can write to that lock screen. It
/// prints only as `tok:` and the beginning of its hash.
///
/// Apple promises no length. Tokens seen have 32 and 80 bytes; anything of an even number of digits up
/// to a limit is taken.
package struct PushToken: Sendable, Hashable {
    package static let bytesMax = 256

    package let bytes: [UInt8]

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

    /// Puts what the digits spell into the buffer, in place of what it has; false where they are no token.
    package static func decode(hex digits: Span<UInt8>, into buffer: inout [UInt8]) -> Bool {
        !digits.isEmpty && digits.count <= 2 * bytesMax && Hex.decode(digits, into: &buffer)
    }

    package init?(hex text: some StringProtocol) {
        let made = text.utf8.withContiguousStorageIfAvailable { unsafe PushToken(hex: $0) }
        guard let token = made ?? PushToken(hex: Array(text.utf8)) else { return nil }
        self = token
    }

    /// Whether it can be made of the digits.
    package static func isPossible(hex digits: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !digits.isEmpty, digits.count <= 2 * bytesMax, digits.count.isMultiple(of: 2) else {
            return false
        }
        return unsafe Hex.isHex(UnsafeRawBufferPointer(digits))
    }

    package init?(bytes: [UInt8]) {
        guard (1...PushToken.bytesMax).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    /// Lower-case digits, as the path of a push wants them. Never for logs.
    package var hex: [UInt8] { Hex.encode(bytes) }

    /// The short form by which people recognise a token, as `description` has it.
    ///
    /// - Parameter hash: in hexadecimal.
    package static func short(hash: String) -> String { "tok:\(hash.prefix(8))" }

    /// What a report with a bad token is told.
    package static let problem = "must be hexadecimal, an even number of digits, at most \(2 * bytesMax)"
}

extension PushToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        "tok:" + String(decoding: Hex.encode(SHA256.digest(bytes).prefix(4)), as: UTF8.self)
    }
    package var debugDescription: String { description }
    /// Nothing that dumps values may find the bytes.
    package var customMirror: Mirror { Mirror(self, children: ["token": description]) }
}
