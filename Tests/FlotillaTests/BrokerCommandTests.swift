import Foundation
import ProcessTesting
import Testing

/// The embedded broker as a separate process.
struct BrokerCommandTests {
    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        try await body(directory.filePath(named: "data"))
    }

    /// Starts a broker.
    private func broker(_ arguments: String...) throws -> ChildProcess {
        try ChildProcess(
            builtProductPath(named: "flotilla"),
            arguments: ["broker", "--log-format", "text", "--admin-listen", "127.0.0.1:0"] + arguments)
    }

    @Test func `SIGTERM stops the broker cleanly`() async throws {
        try await withDirectory { path in
            let broker = try broker("--data", path, "--listen", "127.0.0.1:0")
            try await broker.waitForOutput(containing: "broker: serving")
            broker.send(signal: SIGTERM)
            #expect(try await broker.exitStatus() == 0)
            #expect(broker.errors.contains("stopped"))
        }
    }

    @Test func `only one broker can use a data directory`() async throws {
        try await withDirectory { path in
            let first = try broker("--data", path, "--listen", "127.0.0.1:0")
            try await first.waitForOutput(containing: "broker: serving")
            let second = try broker("--data", path, "--listen", "127.0.0.1:0")
            #expect(try await second.exitStatus() == ExitCode.temporary)
            #expect(second.errors.contains("in use by another process"))
        }
    }

    @Test func `an address beyond this machine needs a flag`() async throws {
        try await withDirectory { path in
            let refused = try broker("--data", path, "--listen", "0.0.0.0:0")
            #expect(try await refused.exitStatus() == ExitCode.configuration)
            #expect(refused.errors.contains("--allow-remote"))
            let allowed = try broker("--data", path, "--listen", "0.0.0.0:0", "--allow-remote")
            try await allowed.waitForOutput(containing: "without TLS")
            try await allowed.waitForOutput(containing: "broker: serving")
        }
    }

    @Test func `a broker without its catalog removes nothing, and starts again after a repair`()
        async throws
    {
        try await withDirectory { path in
            let first = try broker("--data", path, "--listen", "127.0.0.1:0")
            try await first.waitForOutput(containing: "broker: serving")
            first.send(signal: SIGTERM)
            #expect(try await first.exitStatus() == 0)
            // One entry is the copy of the catalog, which is removed below too.
            let logs = try FileManager.default.contentsOfDirectory(atPath: path + "/logs").count - 1
            #expect(logs > 0)
            for name in ["/catalog", "/logs/catalog"] {
                try FileManager.default.removeItem(atPath: path + name)
            }
            let refused = try broker("--data", path, "--listen", "127.0.0.1:0")
            #expect(try await refused.exitStatus() == ExitCode.dataError)
            #expect(refused.errors.contains("flotilla repair"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/logs").count == logs)
            let repair = try ChildProcess(
                builtProductPath(named: "flotilla"), arguments: ["repair", "--data", path, "--yes"])
            #expect(try await repair.exitStatus() == 0)
            let last = try broker("--data", path, "--listen", "127.0.0.1:0")
            try await last.waitForOutput(containing: "broker: serving")
        }
    }
}
