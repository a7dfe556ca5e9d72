/// Checks for Apple's ids of teams and keys.
package enum AppleIDRules {
    /// Whether the text is ten capital letters and digits.
    package static func isValid(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
    }
}
