internal import APNsSimulator
package import CatalogRecords
internal import Cryptography
internal import Glibc
internal import Identifiers

/// The three apps of tests of senders, each of another team and with its own provider key.
package enum SenderTestApps {
    package static let apps = [
        makeApp(id: "shop", team: "ABCDE12345", key: "KEY1234567"),
        makeApp(id: "news", team: "FGHIJ12345", key: "KEY7654321"),
        makeApp(id: "taxi", team: "KLMNO12345", key: "KEY1112223"),
    ]

    private static func makeApp(id: String, team: String, key: String) -> App {
        App(
            id: id, bundleID: "com.example.\(id)", environments: [.production, .sandbox], teamID: team,
            keyID: key, types: [])
    }

    /// The apps by id.
    package static let catalog = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })

    /// The content of a simulator's portal file with the apps and keys. The simulator and the senders read the keys
    /// from the same directory.
    package static let portal = {
        let appObjects = Self.apps.map { #"{"bundleId": "\#($0.bundleID)"}"# }.joined(separator: ", ")
        let keyObjects = Self.apps.map { #"{"keyId": "\#($0.keyID)", "teamId": "\#($0.teamID)"}"# }
            .joined(separator: ", ")
        return #"{"apps": [\#(appObjects)], "keys": [\#(keyObjects)]}"#
    }()

    /// Makes a provider key for each app in a directory, for the setting `sender.keys`.
    package static func makeKeys(in directory: String) throws {
        unsafe mkdir(directory, 0o700)
        for app in apps {
            _ = try SimulatorCredentials.loadKey(id: app.keyID, teamID: app.teamID, directory: directory)
        }
    }
}
