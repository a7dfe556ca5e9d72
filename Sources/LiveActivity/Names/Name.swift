/// What may name a user, a group, an installation or an activity: the app's own words, so nearly
/// anything, but bounded, and nothing that could hide in a terminal or a log.
package enum Name {
    package static let bytesMax = 200

    /// What is wrong with a name, as it goes on after the field's path; nil when nothing is.
    package static func problem(_ text: some StringProtocol) -> String? {
        if text.isEmpty { return "must not be empty" }
        if text.utf8.count > bytesMax { return "must have at most \(bytesMax) bytes" }
        return hasControlCharacter(text.utf8) ? "must not have control characters" : nil
    }

    /// The same of bytes where they lie.
    package static func problem(utf8 bytes: UnsafeBufferPointer<UInt8>) -> String? {
        if bytes.isEmpty { return "must not be empty" }
        if bytes.count > bytesMax { return "must have at most \(bytesMax) bytes" }
        return unsafe hasControlCharacter(bytes) ? "must not have control characters" : nil
    }

    /// By bytes, because this runs for every name of every record: those from U+0080 to U+009F are
    /// 0xC2 and a byte below 0xA0.
    private static func hasControlCharacter(_ bytes: some Collection<UInt8>) -> Bool {
        var last: UInt8 = 0
        for byte in bytes {
            if byte < 0x20 || byte == 0x7F || (last == 0xC2 && byte < 0xA0) { return true }
            last = byte
        }
        return false
    }
}

/// What may name an app: it stands in metrics, in file names of keys and in every topic key.
package enum AppID {
    package static let bytesMax = 64

    package static func problem(_ text: some StringProtocol) -> String? {
        let allowed = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x2E || byte == 0x5F || byte == 0x2D
        }
        let isPath = text == "." || text == ".."
        return allowed && !isPath && (1...bytesMax).contains(text.utf8.count)
            ? nil : "must be 1 to \(bytesMax) letters, digits, dots, underscores and dashes"
    }
}
