/// Which key signs: Apple's team id and key id, ten capital letters and digits each.
package struct ProviderKeyName: Hashable, Sendable, CustomStringConvertible {
    package let teamID: String
    package let keyID: String

    package init(teamID: String, keyID: String) {
        self.teamID = teamID
        self.keyID = keyID
    }

    package var description: String { "\(teamID)/\(keyID)" }
}
