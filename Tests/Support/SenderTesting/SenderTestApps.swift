internal import APNsSimulator
package import CatalogRecords
internal import Cryptography
internal import Glibc
internal import Identifiers

/// Apps of three teams, each with its key, for tests of senders.
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

    package static let catalog = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })

    /// The portal file for a simulator that knows the apps and keys. The simulator uses the keys in the
    /// sender's key directory.
    package static let portal = {
        let bundles = Self.apps.map { #"{"bundleId": "\#($0.bundleID)"}"# }.joined(separator: ", ")
        let keys = Self.apps.map { #"{"keyId": "\#($0.keyID)", "teamId": "\#($0.teamID)"}"# }
            .joined(separator: ", ")
        return #"{"apps": [\#(bundles)], "keys": [\#(keys)]}"#
    }()

    /// Makes a key for each app in a directory, in the form of `sender.keys`.
    package static func makeKeys(in directory: String) throws {
        unsafe mkdir(directory, 0o700)
        for app in apps {
            _ = try SimulatorCredentials.loadKey(id: app.keyID, teamID: app.teamID, directory: directory)
        }
    }
}
