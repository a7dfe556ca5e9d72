package import CatalogRecords

/// An app that is installed on phones, with its activity types. Their schemas tell what the app can decode.
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
