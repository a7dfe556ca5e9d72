internal import APNs

/// The text form of a push's id, in a request and in an answer.
extension PushID {
    /// Parses a lower-case UUID such as `123e4567-e89b-12d3-a456-426614174000`. Returns nil for any other
    /// text.
    init?(canonical text: Span<UInt8>) {
        guard text.count == Self.textBytes else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for index in 0..<Self.textBytes {
            let byte = text[index]
            switch index {
            // The positions of the four dashes.
            case 8, 13, 18, 23:
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            default: break
            }
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            default: return nil
            }
            // The third dash, at 18, divides the 32 digits into halves.
            if index < 18 {
                words.high = words.high << 4 | UInt64(digit)
            } else {
                words.low = words.low << 4 | UInt64(digit)
            }
        }
        self.init(high: words.high, low: words.low)
    }

    init?(canonical text: String) {
        let bytes = Array(text.utf8)
        self.init(canonical: bytes.span)
    }

    /// Passes the id as a lower-case UUID to `body`, without an allocation.
    func withText<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        // 36 is `textBytes`: the size of an `InlineArray` must be a literal.
        var text = InlineArray<36, UInt8>(repeating: 0)
        var span = text.mutableSpan
        unsafe span.withUnsafeMutableBytes { unsafe write(to: $0) }
        return body(text.span)
    }
}
