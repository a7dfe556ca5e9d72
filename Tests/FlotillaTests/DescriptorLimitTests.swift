import Foundation
import ProcessTesting
import Testing

/// `flotilla up` under limits of file descriptors. A shell sets them, because they are inherited.
struct DescriptorLimitTests {
    /// Starts `flotilla up` on free ports.
    ///
    /// - Parameter limits: The commands of the shell that set the limits.
    private func up(limits: String, data: String, _ arguments: String...) throws -> ChildProcess {
        let ports = [
            "--broker-listen", "--admin-listen", "--gateway-listen", "--apns-simulator-control-listen",
        ].flatMap { [$0, "127.0.0.1:0"] }
        let simulator = ["", "sandbox-", "channels-", "sandbox-channels-"].flatMap {
            ["--apns-simulator-\($0)port", "0"]
        }
        return try ChildProcess(
            "bash",
            arguments: [
                "-c", #"\#(limits); exec "$0" "$@""#, builtProductPath(named: "flotilla"), "up",
                "--data", data, "--log-format", "text",
            ] + ports + simulator + arguments)
    }

    private func count(of folder: String, of process: ChildProcess) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processID)/\(folder)").count
    }

    @Test func `the demonstration works with Debian's limit, and opens at most what it says`() async throws {
        let directory = try TemporaryDirectory()
        let process = try up(limits: "ulimit -Sn 1024", data: directory.path, "--demo")
        try await process.waitForOutput(containing: "what the phones show:")
        #expect(process.output.contains("Flotilla is up"), "\(process.output)")
        #expect(!process.errors.contains(" error "), "\(process.errors)")
        let limits = try String(contentsOfFile: "/proc/\(process.processID)/limits", encoding: .utf8)
        let found = try #require(limits.firstMatch(of: #/Max open files +(\d+) +(\d+)/#))
        #expect(found.1 == found.2)
        let refused = try up(
            limits: "ulimit -n 256", data: directory.filePath(named: "other"), "--demo")
        #expect(try await refused.exitStatus() == ExitCode.configuration)
        let need = try #require(
            refused.errors.firstMatch(of: #/needs (\d+) file descriptors, and its limit is 256/#),
            "\(refused.errors)")
        #expect(try count(of: "fd", of: process) <= Int(need.1) ?? 0)
    }

    @Test func `the first screen names a part that reported an error`() async throws {
        let directory = try TemporaryDirectory()
        // A file stands where the stage makes the directory of a lane.
        let insight = directory.path + "/slots/slot-0/insight"
        try FileManager.default.createDirectory(atPath: insight, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: insight + "/receipts-3"))
        let keepLimits = "true"
        let process = try up(limits: keepLimits, data: directory.path, "--demo")
        try await process.waitForOutput(containing: "what the phones show:")
        #expect(!process.output.contains("Flotilla is up"), "\(process.output)")
        #expect(process.output.contains("not every part works"), "\(process.output)")
        #expect(process.output.contains("  insight: "), "\(process.output)")
    }
}
