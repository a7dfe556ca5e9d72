import Foundation
import ProcessTesting
import Testing

/// `flotilla replay`: a rebuild of a stage's state, and replays that are refused.
struct ReplayCommandTests {
    @Test(arguments: ["ingest", "scheduler"])
    func `a rebuild requires a stopped process, and the next start builds the state again`(stage: String)
        async throws
    {
        let directory = try TemporaryDirectory()
        let state = directory.filePath(named: "slots/slot-0/\(stage)")
        func rebuild(_ arguments: String...) async throws -> Answer {
            try await flotilla(
                [
                    "replay", "rebuild", "--stage", stage, "--data", directory.path, "--kafka-brokers",
                    "127.0.0.1:1",
                ] + arguments)
        }
        do {
            let installation = try await Installation(directory.path)
            try await eventually("state files") { FileManager.default.fileExists(atPath: state) }
            let whileRunning = try await rebuild("--yes")
            #expect(
                whileRunning.status == ExitCode.temporary
                    && whileRunning.errors.contains("a running process uses"), "\(whileRunning)")
            installation.process.send(signal: SIGTERM)
            #expect(try await installation.process.exitStatus() == 0)
        }
        let dry = try await rebuild("--dry-run")
        #expect(dry.status == 0 && dry.output.contains(state) && !dry.errors.contains("Continue?"), "\(dry)")
        let withoutConfirmation = try await rebuild()
        #expect(
            withoutConfirmation.status == ExitCode.usage && withoutConfirmation.output.contains(state),
            "\(withoutConfirmation)")
        #expect(FileManager.default.fileExists(atPath: state), "there was no confirmation")
        let done = try await rebuild("--yes")
        #expect(done.status == 0 && done.output.contains("removed 1 of 1"), "\(done)")
        #expect(!FileManager.default.fileExists(atPath: state))
        #expect(try await rebuild("--yes").output.contains("there are no state files"))

        let restarted = try await Installation(directory.path)
        try await eventually("the state is built again") { FileManager.default.fileExists(atPath: state) }
        restarted.process.send(signal: SIGTERM)
        #expect(try await restarted.process.exitStatus() == 0)
    }

    @Test func `a replay that is not possible is refused with the possible ones`() async throws {
        let answer = try await flotilla("replay", "rebuild", "--stage", "sender")
        #expect(
            answer.status == ExitCode.usage
                && answer.errors.contains("ingest or fan-out or scheduler or insight"),
            "\(answer)")
        #expect(try await flotilla("replay", "everything").status == ExitCode.usage)
        let nowhere = try await flotilla("replay", "reports", "--from", "12/0", "--yes")
        #expect(nowhere.status == ExitCode.usage && nowhere.errors.contains("0 to 11"), "\(nowhere)")
    }
}
