internal import Identifiers
internal import JSON

/// The checks whether a text or number of JSON decodes as a UUID, as `Data` in base64, or as a Swift number.
enum TextFormat {
    private static let uuidLength = 36
    /// The positions of the dashes in a UUID.
    private static let uuidDashes = [8, 13, 18, 23]

    /// Whether the text is 8-4-4-4-12 hexadecimal digits, in either case.
    static func isUUID(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count == uuidLength else { return false }
        for index in 0..<uuidLength {
            let byte = unsafe text[index]
            let isExpected =
                uuidDashes.contains(index) ? byte == UInt8(ascii: "-") : Hex.value(of: byte) != nil
            guard isExpected else { return false }
        }
        return true
    }

    /// Whether the text is padded base64 in the standard alphabet, without other characters.
    static func isBase64(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count.isMultiple(of: 4) else { return false }
        var padding = 0
        while padding < 2, padding < text.count, unsafe text[text.count - 1 - padding] == UInt8(ascii: "=") {
            padding += 1
        }
        for index in 0..<text.count - padding {
            switch unsafe text[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                break
            default: return false
            }
        }
        return true
    }

    /// Whether a number other than zero is so small that it becomes zero. Swift refuses such a number.
    static func underflows(_ value: JSONValue, isFloat: Bool) -> Bool {
        let number = value.double()
        let isZero = isFloat ? Float(number) == 0 : number == 0
        guard isZero else { return false }
        // The value is zero. It underflowed if the text has a digit other than 0 before its exponent.
        let text = unsafe value.raw
        for index in text.indices {
            switch unsafe text[index] {
            case UInt8(ascii: "e"), UInt8(ascii: "E"): return false
            case UInt8(ascii: "1")...UInt8(ascii: "9"): return true
            default: continue
            }
        }
        return false
    }
}
