internal import Foundation
internal import Glibc
internal import ProcessTesting

/// A process of `flotilla apns-simulator` that knows the apps of `SenderTestApps` and records every push.
package final class SimulatedAPNs {
    package let process: RestartableProcess
    package let sandboxPort: Int
    private let directory: String

    /// - Parameters:
    ///   - programs: the directory with `flotilla`.
    ///   - directory: for keys, certificates and records.
    ///   - script: the rules for its misbehavior.
    package init(programs: String, directory: String, script: String) async throws {
        self.directory = directory
        unsafe mkdir(directory, 0o700)
        try SenderTestApps.makeKeys(in: directory)
        let (portal, rules) = ("\(directory)/portal.json", "\(directory)/script.json")
        try SenderTestApps.portal.write(toFile: portal, atomically: true, encoding: .utf8)
        try script.write(toFile: rules, atomically: true, encoding: .utf8)
        let sandbox = try freePort()
        sandboxPort = sandbox
        process = try await RestartableProcess(
            program: "\(programs)/flotilla",
            arguments: [
                "apns-simulator", "--data", directory, "--port", "PORT", "--sandbox-port", String(sandbox),
                "--channels-port", "0", "--sandbox-channels-port", "0", "--control-listen", "127.0.0.1:0",
                "--portal", portal, "--script", rules, "--records", "\(directory)/records",
            ])
    }

    package var recordsPath: String { "\(directory)/records" }

    /// Arguments for a sender's worker that make it push there.
    package var workerArguments: [String] {
        [
            "--keys", directory, "--apns", "localhost:\(process.port)", "--apns-sandbox",
            "localhost:\(sandboxPort)", "--authorities", "\(directory)/ca.pem",
        ]
    }
}
