package import Catalog
package import CatalogRecords
internal import Foundation
internal import Identifiers
internal import IngestTesting
package import InstallationRecords
internal import JSON
internal import RecordFormat
package import TokenSealing

/// A webhook endpoint in a catalog of tests, with the key of its signatures and the sealing keys of the installation.
package struct WebhookTestEndpoint: Sendable {
    package var record: WebhookEndpoint
    /// The key of the signatures.
    package let key: [UInt8]
    package let sealingKeys: SealingKeys
    /// The path of the file with the sealing keys, for other processes.
    package let sealingKeysFile: String

    /// - Parameters:
    ///   - directory: The directory of the file with the sealing keys.
    ///   - createdAt: Milliseconds since 1970.
    package init(
        url: String, types: [WebhookEventType] = WebhookEventType.allCases, in directory: String,
        createdAt: Int64 = 0
    ) throws {
        sealingKeysFile = directory + "/sealing-keys"
        if !FileManager.default.fileExists(atPath: sealingKeysFile) {
            let isWritten = FileManager.default.createFile(
                atPath: sealingKeysFile, contents: Data(SealingKeys.makeText().utf8),
                attributes: [.posixPermissions: 0o600])
            precondition(isWritten, "the test can write \(sealingKeysFile)")
        }
        sealingKeys = try SealingKeys(file: sealingKeysFile)
        let secret = WebhookSecret()
        key = secret.key
        let sealed = secret.sealed(
            by: TokenSeal(keys: sealingKeys), app: TestBed.app.id, endpoint: "billing", now: createdAt)
        record = WebhookEndpoint(
            app: TestBed.app.id, name: "billing", url: url, types: types,
            secrets: [sealed].compactMap { $0 }, createdAt: createdAt)
    }

    /// The catalog with the apps of tests and this endpoint.
    package var catalog: CatalogSnapshot { Self.catalog(with: record) }

    package static func catalog(with record: WebhookEndpoint) -> CatalogSnapshot {
        var catalog = CatalogSnapshot(apps: TestBed.apps)
        _ = catalog.apply(key: record.key, value: record.encoded(), with: JSONReader())
        return catalog
    }

    /// Returns a tap of a user. `ScriptedEndpoint` checks the order of the numbers, which begin at 1.
    package static func tap(number: Int, of user: String) -> Event {
        Event(
            .tap, app: TestBed.app.id, environment: .production, installation: "phone-\(user)", user: user,
            activity: "activity-\(user)", scheduleID: "s-1", scheduleName: "\(number)",
            eventTime: 1_763_600_000_000, receivedAt: 1_763_600_000_000)
    }
}
