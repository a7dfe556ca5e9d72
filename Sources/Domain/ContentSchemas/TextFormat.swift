internal import Identifiers
internal import JSON

/// Text forms that Swift's own types read from a string.
enum TextFormat {
    /// Whether the text is 8-4-4-4-12 hexadecimal digits, in either case.
    static func isUUID(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count == 36 else { return false }
        for index in 0..<36 {
            let isDash = index == 8 || index == 13 || index == 18 || index == 23
            let byte = unsafe text[index]
            guard isDash ? byte == UInt8(ascii: "-") : Hex.value(of: byte) != nil else { return false }
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
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"): break
            default: return false
            }
        }
        return true
    }

    /// Whether a number other than zero is so small that it becomes zero. Swift refuses such a number.
    static func underflows(_ value: JSONValue, isFloat: Bool) -> Bool {
        let number = value.double()
        guard isFloat ? Float(number) == 0 : number == 0 else { return false }
        let text = unsafe value.raw
        for index in text.indices {
            switch unsafe text[index] {
            case UInt8(ascii: "e"), UInt8(ascii: "E"): return false
            case 0x31...0x39: return true
            default: continue
            }
        }
        return false
    }
}
