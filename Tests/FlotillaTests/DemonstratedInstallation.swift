import Foundation
import ProcessTesting
import Testing

/// `flotilla up --demo` on free ports, after the demonstration: all stages, the app `demo` with its keys, and a
/// simulated APNs.
struct DemonstratedInstallation {
    /// The team of the demonstration's app.
    private static let teamID = "FLOTILLA01"

    let process: ChildProcess
    /// The address of the broker.
    let broker: String
    /// The address of the gateway.
    let gateway: String
    /// The address of the simulated APNs.
    let apns: String
    /// The address of the simulated APNs' control API.
    let control: String
    /// The API key of the demonstration's app.
    let key: String
    let dataDirectory: String

    /// Starts the installation, and waits until the demonstration has ended.
    init(in directory: TemporaryDirectory) async throws {
        dataDirectory = directory.filePath(named: "data")
        let freeAddress = "127.0.0.1:0"
        process = try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: [
                "up", "--demo", "--data", dataDirectory,
                "--broker-listen", freeAddress,
                "--admin-listen", freeAddress,
                "--gateway-listen", freeAddress,
                "--apns-simulator-port", "0",
                "--apns-simulator-sandbox-port", "0",
                "--apns-simulator-channels-port", "0",
                "--apns-simulator-sandbox-channels-port", "0",
                "--apns-simulator-control-listen", freeAddress,
                "--log-format", "text",
            ])
        try await process.waitForOutput(containing: "what the phones show:")
        let addresses = try #require(
            process.output.firstMatch(
                of: #/Kafka at (\S+),.*simulated APNs at https://(\S+)\./#
                    .dotMatchesNewlines()))
        broker = String(addresses.1)
        apns = String(addresses.2)
        gateway = try process.servingAddress(of: "gateway")
        control = try String(
            #require(process.output.firstMatch(of: #/http:\/\/(\S+)\/v1\/phones\/phone-0/#)).1)
        key = try String(#require(process.output.firstMatch(of: #/KEY=(\S+)/#)).1)
    }

    /// Calls a URL with the app's key.
    func call(_ method: String, _ url: String, body: String? = nil) async throws -> HTTPAnswer {
        var arguments = [
            "-sS", "-X", method, "-w", "\n%{http_code}", "-H", "Authorization: Bearer \(key)",
            "http://\(url)",
        ]
        if let body { arguments += ["-d", body] }
        let curl = try ChildProcess("curl", arguments: arguments)
        #expect(try await curl.exitStatus() == 0, "\(curl.errors)")
        let lines = curl.output.split(separator: "\n", omittingEmptySubsequences: false)
        return HTTPAnswer(
            status: lines.last.flatMap { Int($0) } ?? 0, body: lines.dropLast().joined(separator: "\n"))
    }

    /// The path of the file with the sealing keys.
    var sealingKeys: String { dataDirectory + "/sealing-keys" }
    /// The path of the simulated APNs' certificate authority.
    var authorities: String { dataDirectory + "/apns-simulator/ca.pem" }

    /// Makes a directory as a sender needs it: a folder for each team, with the team's provider keys. The simulated APNs
    /// has written the key of the demonstration into its data directory, as a .p8 file.
    func senderKeys(in directory: TemporaryDirectory) throws -> String {
        let simulatorDirectory = dataDirectory + "/apns-simulator"
        let keyFile = try #require(
            FileManager.default.contentsOfDirectory(atPath: simulatorDirectory)
                .first { $0.hasPrefix("AuthKey_") })
        let keysDirectory = directory.filePath(named: "keys")
        let teamDirectory = "\(keysDirectory)/\(Self.teamID)"
        try FileManager.default.createDirectory(
            atPath: teamDirectory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try FileManager.default.copyItem(
            atPath: "\(simulatorDirectory)/\(keyFile)", toPath: "\(teamDirectory)/\(keyFile)")
        return keysDirectory
    }
}

/// The answer to an HTTP request.
struct HTTPAnswer {
    let status: Int
    let body: String
}
