package import LiveActivity

/// An app as built into phones: its activity types and how it decodes them. A phone learns about a group only
/// from a start.
package struct PhoneApp: Sendable {
    /// The app's id in reports.
    package var id: String
    package var bundleID: String
    package var build = "1"
    package var types: [ActivityType]
    /// Whether one start token serves every type, instead of one for each type.
    package var hasOneStartToken = false

    package init(id: String, bundleID: String, types: [ActivityType]) {
        precondition(types.count < Int(UInt16.max), "too many types for 16 bits")
        self.id = id
        self.bundleID = bundleID
        self.types = types
    }
}
