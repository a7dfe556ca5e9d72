import Foundation
import ProcessTesting
import Testing

/// Tests that the commands of the README print the output that the README shows.
struct ReadmeCommandsTests {
    @Test func `the README's commands that report a token work when they are pasted`() async throws {
        let directory = try TemporaryDirectory()
        let installation = try await Installation(directory.path)
        let section = try #require(
            Repository.text(of: "README.md").components(separatedBy: "## Report tokens\n").dropFirst().first)
        let steps = try #require(ConsoleStep.blocks(in: section).first)
        #expect(steps.count >= 4)
        let mark = "---- the next command"
        let script = steps.map { step in
            // The test sets the path to the binary under test.
            let command = step.command.hasPrefix("PATH=") ? ":" : step.command
            return command.replacingOccurrences(of: "127.0.0.1:8080", with: installation.gateway)
        }.joined(separator: "\necho; echo '\(mark)'\n")
        let path = builtProductsDirectory
        let shell = try ChildProcess(
            "bash", arguments: ["-e", "-c", "PATH='\(path)':$PATH\n" + script],
            environment: ["FLOTILLA_KAFKA_BROKERS": installation.broker])
        #expect(try await shell.exitStatus() == 0, "\(shell.errors)")
        let outputs = shell.output.components(separatedBy: "\n\(mark)\n")
        #expect(outputs.count == steps.count)
        for (step, output) in zip(steps, outputs) {
            #expect(step.shows(output), "\(step.command): \(output)")
        }
    }
}
