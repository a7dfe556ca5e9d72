internal import Catalog
package import CatalogRecords
internal import Identifiers
internal import IngestTesting
internal import Telemetry
internal import Topics

/// An app of a fleet, with an API key for its phones' reports, one for its backend's sends, and one for reading.
package struct FleetApp: Sendable {
    package let app: App
    package let reportKey: String
    package let sendKey: String
    package let readKey: String

    /// Writes the app and its keys to the catalog.
    init(id: String, bundleID: String, type: ActivityType, team: String, keyID: String, bed: TestBed)
        throws
    {
        app = App(
            id: id, bundleID: bundleID, environments: [.production], teamID: team, keyID: keyID,
            types: [type])
        let writer = try CatalogWriter(
            bed.settings, catalog: bed.layout.name(of: .catalog), audit: bed.layout.name(of: .audit),
            author: "fleet", metrics: Metrics())
        let now = WallTime.now()
        try writer.write(.put(app, action: "create"), now: now)
        func makeKey(role: APIKey.Role) throws -> String {
            let (text, key) = APIKeyText.makeKey(app: id, role: role, atMilliseconds: now.milliseconds)
            try writer.write(.put(key, action: "create"), now: now)
            return text
        }
        (reportKey, sendKey, readKey) = (
            try makeKey(role: .report), try makeKey(role: .send), try makeKey(role: .read)
        )
    }
}
