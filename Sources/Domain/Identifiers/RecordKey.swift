/// The key of a record: parts joined by slashes, so that people can read it. Slashes, percent signs and
/// control characters within a part are percent-escaped, so that no part can look like two.
@usableFromInline package enum RecordKey {
    package static func join(_ parts: String...) -> [UInt8] {
        var out: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if index > 0 { out.append(separator) }
            append(part, to: &out)
        }
        return out
    }

    @inlinable package static var separator: UInt8 { UInt8(ascii: "/") }

    /// Returns the parts, or nil if an escape is broken or a part is not UTF-8.
    package static func split(_ key: UnsafeRawBufferPointer) -> [String]? {
        if unsafe !key.contains(UInt8(ascii: "%")) { return unsafe splitUnescaped(key) }
        var parts: [String] = []
        var part: [UInt8] = []
        var index = 0
        while index < key.count {
            let byte = unsafe key[index]
            index += 1
            if byte == UInt8(ascii: "/") {
                guard let text = String(validating: part, as: UTF8.self) else { return nil }
                parts.append(text)
                part.removeAll(keepingCapacity: true)
            } else if byte == UInt8(ascii: "%") {
                guard index + 2 <= key.count, let high = unsafe Hex.value(of: key[index]),
                    let low = unsafe Hex.value(of: key[index + 1])
                else { return nil }
                part.append(high << 4 | low)
                index += 2
            } else {
                part.append(byte)
            }
        }
        guard let text = String(validating: part, as: UTF8.self) else { return nil }
        return parts + [text]
    }

    /// Splits a key without escapes, which nearly all keys are.
    private static func splitUnescaped(_ key: UnsafeRawBufferPointer) -> [String]? {
        var parts: [String] = []
        parts.reserveCapacity(4)
        var start = 0
        for end in 0...key.count where unsafe end == key.count || key[end] == UInt8(ascii: "/") {
            let part = unsafe UnsafeRawBufferPointer(rebasing: key[start..<end])
            guard let text = unsafe String(validating: part, as: UTF8.self) else { return nil }
            parts.append(text)
            start = end + 1
        }
        return parts
    }

    package static func split(_ key: [UInt8]) -> [String]? { unsafe key.withUnsafeBytes { unsafe split($0) } }

    /// Appends one part and escapes it.
    package static func append(_ part: String, to out: inout [UInt8]) {
        var part = part
        part.withUTF8 { bytes in
            if unsafe mayNeedEscape(UnsafeRawBufferPointer(bytes)) {
                for index in bytes.indices { unsafe appendEscaped(bytes[index], to: &out) }
            } else {
                unsafe out.append(contentsOf: bytes)
            }
        }
    }

    /// Appends one part from bytes in place, and escapes it.
    package static func append(_ part: Span<UInt8>, to out: inout [UInt8]) {
        unsafe part.withUnsafeBytes { bytes in
            if unsafe mayNeedEscape(bytes) {
                for index in bytes.indices { unsafe appendEscaped(bytes[index], to: &out) }
            } else {
                unsafe out.append(contentsOf: bytes)
            }
        }
    }

    /// Appends a recipient as one part, in the form of `Recipient.text`.
    package static func append(_ recipient: Recipient, to out: inout [UInt8]) {
        switch recipient {
        case .user(let id): append(prefix: "u:", id: id, to: &out)
        case .installation(let id): append(prefix: "i:", id: id, to: &out)
        }
    }

    private static func append(prefix: StaticString, id: String, to out: inout [UInt8]) {
        unsafe out.append(
            contentsOf: UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
        append(id, to: &out)
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte == separator || byte == UInt8(ascii: "%") || byte < 0x20 || byte == 0x7F
    }

    /// Whether a byte may need an escape. `false` is certain.
    private static func mayNeedEscape(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe EightByteSearch.mayContain(in: bytes) { word in
            EightByteSearch.controlMarks(in: word) | EightByteSearch.marks(of: separator, in: word)
                | EightByteSearch.marks(of: UInt8(ascii: "%"), in: word)
                | EightByteSearch.marks(of: 0x7F, in: word)
        }
    }

    private static func appendEscaped(_ byte: UInt8, to out: inout [UInt8]) {
        guard needsEscape(byte) else { return out.append(byte) }
        out.append(UInt8(ascii: "%"))
        out.append(Hex.digit(for: byte >> 4))
        out.append(Hex.digit(for: byte & 15))
    }
}
