internal import APNsSimulator
internal import Cryptography
internal import Glibc
package import LiveActivity

/// Apps of three teams, each with a key of its own, as senders are tested with.
package enum SenderBed {
    package static let apps = [
        app("shop", team: "ABCDE12345", key: "KEY1234567"),
        app("news", team: "FGHIJ12345", key: "KEY7654321"),
        app("taxi", team: "KLMNO12345", key: "KEY1112223"),
    ]

    private static func app(_ id: String, team: String, key: String) -> App {
        App(
            id: id, bundleID: "com.example.\(id)", environments: [.production, .sandbox], teamID: team,
            keyID: key, types: [])
    }

    package static let catalog = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })

    /// Where a sender finds its keys, and the portal's file of a simulator that knows the same: it takes the keys
    /// that lie there.
    package static let portal = {
        let bundles = Self.apps.map { #"{"bundleId": "\#($0.bundleID)"}"# }.joined(separator: ", ")
        let keys = Self.apps.map { #"{"keyId": "\#($0.keyID)", "teamId": "\#($0.teamID)"}"# }
            .joined(separator: ", ")
        return #"{"apps": [\#(bundles)], "keys": [\#(keys)]}"#
    }()

    /// Puts a key for each app into a directory, as `sender.keys` wants them.
    package static func makeKeys(in directory: String) throws {
        unsafe mkdir(directory, 0o700)
        for app in apps { _ = try SimulatorCredentials.key(app.keyID, of: app.teamID, in: directory) }
    }
}
