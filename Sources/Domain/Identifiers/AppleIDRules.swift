/// Checks for Apple's ids of teams and keys.
package enum AppleIDRules {
    /// Whether the text is ten capital letters and digits.
    package static func isValid(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy(isDigitOrCapital)
    }

    private static func isDigitOrCapital(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
}
