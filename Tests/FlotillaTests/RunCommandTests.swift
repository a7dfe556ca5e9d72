import Foundation
import ProcessTesting
import Testing

/// `flotilla run`, and the files that `flotilla up` makes for the stages.
struct RunCommandTests {
    @Test func `run needs the names of stages and lists the known ones`() async throws {
        let none = try await flotilla("run")
        #expect(none.status == 64)
        #expect(none.errors.contains("name a stage to run"))
        let unknown = try await flotilla("run", "injest")
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("there is no stage injest"))
    }

    @Test func `up creates the topics and a file of sealing keys that only its owner can read`() async throws
    {
        let directory = try TemporaryDirectory()
        let keys = directory.file("sealing-keys")
        var texts: [String] = []
        for _ in 1...2 {
            let process = try ChildProcess(
                builtProduct("flotilla"),
                [
                    "up", "--data", directory.path, "--broker-listen", "127.0.0.1:0", "--admin-listen",
                    "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0", "--log-format", "text",
                ])
            try await process.waitFor("broker: serving")
            if texts.isEmpty { try await process.waitFor("topics: created topics") }
            texts.append(try String(contentsOfFile: keys, encoding: .utf8))
            process.send(signal: SIGTERM)
            #expect(try await process.exitStatus() == 0)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: keys)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(texts[0] == texts[1], "the keys are made only once")
    }
}
