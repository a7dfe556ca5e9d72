/// Versions in texts. The numbers in the texts are compared one after the other, so that 17.10 is above 17.9,
/// and 17.2 equals 17.2.0. Text before the first number is ignored.
enum VersionText {
    /// Returns nil if a text has no number.
    static func order(of a: Span<UInt8>, to b: Span<UInt8>) -> Int? {
        var (first, second) = (Numbers(), Numbers())
        guard first.hasNumber(in: a), second.hasNumber(in: b) else { return nil }
        while true {
            let (x, y) = (first.next(in: a), second.next(in: b))
            if x == nil, y == nil { return 0 }
            if (x ?? 0) != (y ?? 0) { return (x ?? 0) < (y ?? 0) ? -1 : 1 }
        }
    }

    static func order(of numbers: [UInt8], to text: Span<UInt8>) -> Int? {
        var second = Numbers()
        guard second.hasNumber(in: text) else { return nil }
        var index = 0
        while true {
            let x = index < numbers.count ? UInt64(numbers[index]) : nil
            let y = second.next(in: text)
            if x == nil, y == nil { return 0 }
            if (x ?? 0) != (y ?? 0) { return (x ?? 0) < (y ?? 0) ? -1 : 1 }
            index += 1
        }
    }

    private struct Numbers {
        private var offset = 0

        func hasNumber(in text: Span<UInt8>) -> Bool {
            for index in text.indices where (0x30...0x39).contains(text[index]) { return true }
            return false
        }

        /// Returns the next number. Numbers above the limit count as the limit.
        mutating func next(in text: Span<UInt8>) -> UInt64? {
            while offset < text.count, !(0x30...0x39).contains(text[offset]) { offset += 1 }
            guard offset < text.count else { return nil }
            var number: UInt64 = 0
            while offset < text.count, (0x30...0x39).contains(text[offset]) {
                number = min(number, .max / 20) * 10 + UInt64(text[offset] - 0x30)
                offset += 1
            }
            return number
        }
    }
}
