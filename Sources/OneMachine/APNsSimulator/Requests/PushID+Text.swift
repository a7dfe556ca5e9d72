internal import APNs

extension PushID {
    /// Parses 32 lower-case hexadecimal digits in groups of 8, 4, 4, 4 and 12. Returns nil for any other
    /// text.
    init?(canonical text: Span<UInt8>) {
        guard text.count == Self.textBytes else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for index in 0..<Self.textBytes {
            let byte = text[index]
            switch index {
            case 8, 13, 18, 23:
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            default: break
            }
            let value: UInt8
            switch byte {
            case 0x30...0x39: value = byte - 0x30
            case 0x61...0x66: value = byte - 0x57
            default: return nil
            }
            if index < 18 {
                words.high = words.high << 4 | UInt64(value)
            } else {
                words.low = words.low << 4 | UInt64(value)
            }
        }
        self.init(high: words.high, low: words.low)
    }

    init?(canonical text: String) {
        let bytes = Array(text.utf8)
        self.init(canonical: bytes.span)
    }

    func withText<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        var text = InlineArray<36, UInt8>(repeating: 0)
        var span = text.mutableSpan
        unsafe span.withUnsafeMutableBytes { unsafe write(to: $0) }
        return body(text.span)
    }
}
