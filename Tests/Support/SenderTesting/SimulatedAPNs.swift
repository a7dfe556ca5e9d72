internal import Foundation
internal import Glibc
internal import ProcessTesting

/// A process of `flotilla apns-simulator` that knows the apps of `SenderTestApps` and records every push.
package final class SimulatedAPNs {
    package let process: RestartableProcess
    package let sandboxPort: Int
    private let directory: String

    /// - Parameters:
    ///   - programs: The directory with `flotilla`.
    ///   - directory: The directory for keys, certificates and records.
    ///   - script: The fault script.
    package init(programs: String, directory: String, script: String) async throws {
        self.directory = directory
        unsafe mkdir(directory, 0o700)
        try SenderTestApps.makeKeys(in: directory)
        let portalPath = "\(directory)/portal.json"
        let scriptPath = "\(directory)/script.json"
        try SenderTestApps.portal.write(toFile: portalPath, atomically: true, encoding: .utf8)
        try script.write(toFile: scriptPath, atomically: true, encoding: .utf8)
        sandboxPort = try freePort()
        process = try await RestartableProcess(
            program: "\(programs)/flotilla",
            arguments: [
                "apns-simulator", "--data", directory, "--port", "PORT", "--sandbox-port",
                String(sandboxPort), "--channels-port", "0", "--sandbox-channels-port", "0",
                "--control-listen", "127.0.0.1:0", "--portal", portalPath, "--script", scriptPath,
                "--records", "\(directory)/records",
            ])
    }

    package var recordsPath: String { "\(directory)/records" }

    /// The arguments with which the sender's worker in `flotilla-bench` pushes to this APNs.
    package var workerArguments: [String] {
        [
            "--keys", directory, "--apns", "localhost:\(process.port)", "--apns-sandbox",
            "localhost:\(sandboxPort)", "--authorities", "\(directory)/ca.pem",
        ]
    }
}
