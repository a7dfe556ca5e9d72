import Foundation
import ProcessTesting
import Testing

/// `flotilla up --demo` on free ports, after the demonstration: all stages, an app with keys, and a simulated
/// APNs.
struct DemonstratedInstallation {
    let process: ChildProcess
    let broker: String
    /// The address of the simulated APNs.
    let apns: String
    let data: String

    init(in directory: TemporaryDirectory) async throws {
        data = directory.filePath(named: "data")
        process = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "up", "--demo", "--data", data, "--broker-listen", "127.0.0.1:0", "--admin-listen",
                "127.0.0.1:0",
                "--gateway-listen", "127.0.0.1:0", "--apns-simulator-port", "0",
                "--apns-simulator-sandbox-port",
                "0", "--apns-simulator-channels-port", "0", "--apns-simulator-sandbox-channels-port", "0",
                "--apns-simulator-control-listen", "127.0.0.1:0", "--log-format", "text",
            ])
        try await process.waitForOutput(containing: "what the phones show:")
        let said = try #require(
            process.output.firstMatch(
                of: #/Kafka at (\S+),.*simulated APNs at https://(\S+)\./#
                    .dotMatchesNewlines()))
        broker = String(said.1)
        apns = String(said.2)
    }

    var sealingKeys: String { data + "/sealing-keys" }
    var authorities: String { data + "/apns-simulator/ca.pem" }

    /// Makes a directory with the app's provider key, as a sender needs it.
    func senderKeys(in directory: TemporaryDirectory) throws -> String {
        let name = try #require(
            FileManager.default.contentsOfDirectory(atPath: data + "/apns-simulator")
                .first { $0.hasPrefix("AuthKey_") })
        let keys = directory.filePath(named: "keys")
        try FileManager.default.createDirectory(
            atPath: keys + "/FLOTILLA01", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try FileManager.default.copyItem(
            atPath: data + "/apns-simulator/" + name, toPath: keys + "/FLOTILLA01/" + name)
        return keys
    }
}
