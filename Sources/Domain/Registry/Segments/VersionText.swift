/// The comparison of versions that are texts, such as `17.10` or `iOS 17.9`. The numbers in the texts are
/// compared one after the other, and a missing number counts as zero. So 17.10 is above 17.9, and 17.2 equals
/// 17.2.0. All other characters are ignored.
enum VersionText {
    /// Returns -1, 0 or 1, or nil if a text has no number.
    static func order(of text: Span<UInt8>, to other: Span<UInt8>) -> Int? {
        var (numbers, otherNumbers) = (Numbers(), Numbers())
        guard numbers.hasNumber(in: text), otherNumbers.hasNumber(in: other) else { return nil }
        while true {
            let (number, otherNumber) = (numbers.next(in: text), otherNumbers.next(in: other))
            if number == nil, otherNumber == nil { return 0 }
            if let order = order(of: number ?? 0, to: otherNumber ?? 0) { return order }
        }
    }

    /// Compares a version that is a list of numbers with a text.
    static func order(of numbers: [UInt8], to text: Span<UInt8>) -> Int? {
        var textNumbers = Numbers()
        guard textNumbers.hasNumber(in: text) else { return nil }
        var index = 0
        while true {
            let number = index < numbers.count ? UInt64(numbers[index]) : nil
            let textNumber = textNumbers.next(in: text)
            if number == nil, textNumber == nil { return 0 }
            if let order = order(of: number ?? 0, to: textNumber ?? 0) { return order }
            index += 1
        }
    }

    /// Returns nil if the numbers are equal.
    private static func order(of number: UInt64, to other: UInt64) -> Int? {
        number == other ? nil : number < other ? -1 : 1
    }

    /// An iterator over the numbers in a text. Each call must get the same text.
    private struct Numbers {
        private var offset = 0

        func hasNumber(in text: Span<UInt8>) -> Bool {
            for index in text.indices where Self.isDigit(text[index]) { return true }
            return false
        }

        /// Returns the next number, or nil at the end. A number above half of `UInt64.max` counts as about
        /// that half, so that no number overflows.
        mutating func next(in text: Span<UInt8>) -> UInt64? {
            while offset < text.count, !Self.isDigit(text[offset]) { offset += 1 }
            guard offset < text.count else { return nil }
            var number: UInt64 = 0
            while offset < text.count, Self.isDigit(text[offset]) {
                number = min(number, .max / 20) * 10 + UInt64(text[offset] - UInt8(ascii: "0"))
                offset += 1
            }
            return number
        }

        private static func isDigit(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
    }
}
