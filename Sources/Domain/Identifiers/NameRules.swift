/// Rules for the names of users, groups, installations and activities. An app chooses these names freely.
/// Names are bounded and contain no control characters, which could hide text in a terminal or a log.
package enum NameRules {
    package static let bytesMax = 200

    /// Returns the problem with a name, worded to follow the field's path, or nil if the name is valid.
    @inlinable
    package static func problem(_ text: some StringProtocol) -> String? {
        if let problem = text.utf8.withContiguousStorageIfAvailable({ unsafe problem(utf8: $0) }) {
            return problem
        }
        return unsafe Array(text.utf8).withUnsafeBufferPointer { unsafe problem(utf8: $0) }
    }

    /// Checks bytes in place, without a `String`.
    package static func problem(utf8 bytes: UnsafeBufferPointer<UInt8>) -> String? {
        if bytes.isEmpty { return "must not be empty" }
        if bytes.count > bytesMax { return "must have at most \(bytesMax) bytes" }
        guard unsafe mayHaveControlCharacter(UnsafeRawBufferPointer(bytes)) else { return nil }
        return unsafe hasControlCharacter(bytes) ? "must not have control characters" : nil
    }

    /// Whether there may be a control character: a byte below 0x20, 0x7F, or the byte 0xC2. `false` is certain.
    private static func mayHaveControlCharacter(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe EightByteSearch.mayContain(in: bytes) { word in
            EightByteSearch.controlMarks(in: word) | EightByteSearch.marks(of: 0x7F, in: word)
                | EightByteSearch.marks(of: 0xC2, in: word)
        }
    }

    private static func hasControlCharacter(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        // The control characters from U+0080 to U+009F are encoded as 0xC2 and a byte below 0xA0.
        var last: UInt8 = 0
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            if byte < 0x20 || byte == 0x7F || (last == 0xC2 && byte < 0xA0) { return true }
            last = byte
        }
        return false
    }
}

/// Rules for app ids. An app id appears in metrics, in file names of keys and in every topic key.
package enum AppIDRules {
    package static let bytesMax = 64
    /// The name of the whole installation, in the audit and in the seal of the console's sessions.
    package static let installation = "flotilla"

    /// Returns the reason that a new app cannot have this id, or nil. An app with the name of the installation would
    /// see the audit of all apps.
    package static func problemOfNewApp(_ id: String) -> String? {
        problem(id)
            ?? (id == installation ? "must not be \(installation), the name of the installation itself" : nil)
    }

    @inlinable
    package static func problem(_ text: some StringProtocol) -> String? {
        unsafe Array(text.utf8).withUnsafeBufferPointer { unsafe problem(utf8: $0) }
    }

    /// Checks bytes in place, without a `String`.
    package static func problem(utf8 bytes: UnsafeBufferPointer<UInt8>) -> String? {
        unsafe isValid(bytes)
            ? nil : "must be 1 to \(bytesMax) letters, digits, dots, underscores and dashes"
    }

    private static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard (1...bytesMax).contains(bytes.count) else { return false }
        // `.` and `..` would be paths in the file names of keys.
        var isPath = bytes.count <= 2
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                break
            default: return false
            }
            isPath = isPath && byte == UInt8(ascii: ".")
        }
        return !isPath
    }
}
