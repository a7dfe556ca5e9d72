/// Which key signs: Apple's team id and key id, ten capital letters and digits each.
package struct ProviderKeyName: Hashable, Sendable, CustomStringConvertible {
    package let teamID: String
    package let keyID: String

    package init(teamID: String, keyID: String) {
        self.teamID = teamID
        self.keyID = keyID
    }

    package var description: String { "\(teamID)/\(keyID)" }

    static func isAppleID(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
    }
}
