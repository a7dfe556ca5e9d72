/// The name of a signing key: Apple's team id and key id, each of ten capital letters and digits.
package struct ProviderKeyName: Hashable, Sendable, CustomStringConvertible {
    package let teamID: String
    package let keyID: String

    package init(teamID: String, keyID: String) {
        self.teamID = teamID
        self.keyID = keyID
    }

    package var description: String { "\(teamID)/\(keyID)" }
}
