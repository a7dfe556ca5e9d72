package import LiveActivity

/// An app as it is built into phones: which activities it knows, and how it decodes them. A phone
/// learns nothing else about a group than what a start tells it.
package struct PhoneApp: Sendable {
    /// As reports name it.
    package var id: String
    package var bundleID: String
    package var build = "1"
    package var types: [ActivityType]
    /// One start token serves every type, instead of one for each.
    package var hasOneStartToken = false

    package init(id: String, bundleID: String, types: [ActivityType]) {
        precondition(types.count < Int(UInt16.max), "types are counted in 16 bits")
        self.id = id
        self.bundleID = bundleID
        self.types = types
    }
}
