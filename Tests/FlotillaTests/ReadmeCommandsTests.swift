import Foundation
import ProcessTesting
import Testing

/// Tests that the commands of the README print the output that the README shows.
struct ReadmeCommandsTests {
    private struct Step {
        var command: String
        var output: [String] = []
    }

    /// Returns the steps in the console block of a section: each command after `$ ` with its output.
    private func steps(of section: String, from file: String = #filePath) throws -> [Step] {
        let root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let text = try #require(readme.components(separatedBy: "## \(section)\n").dropFirst().first)
        let block = try #require(text.components(separatedBy: "```console\n").dropFirst().first)
        var steps: [Step] = []
        for line in block.components(separatedBy: "\n```")[0].components(separatedBy: "\n") {
            if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if let command = steps.last?.command,
                !command.filter({ $0 == "'" }).count.isMultiple(of: 2)
            {
                steps[steps.count - 1].command += "\n" + line
            } else {
                steps[steps.count - 1].output.append(line)
            }
        }
        return steps
    }

    @Test func `the README's commands that report a token work when they are pasted`() async throws {
        let directory = try TemporaryDirectory()
        let installation = try await Installation(directory.path)
        let steps = try steps(of: "Report tokens")
        #expect(steps.count >= 4)
        let mark = "---- the next command"
        let script = steps.map { step in
            // The test sets the path to the binary under test.
            let command = step.command.hasPrefix("PATH=") ? ":" : step.command
            return command.replacingOccurrences(of: "127.0.0.1:8080", with: installation.gateway)
        }.joined(separator: "\necho; echo '\(mark)'\n")
        let path = URL(fileURLWithPath: builtProduct("flotilla")).deletingLastPathComponent().path
        let shell = try ChildProcess(
            "bash", ["-e", "-c", "PATH='\(path)':$PATH\n" + script],
            environment: ["FLOTILLA_KAFKA_BROKERS": installation.broker])
        #expect(try await shell.exitStatus() == 0, "\(shell.errors)")
        let outputs = shell.output.components(separatedBy: "\n\(mark)\n")
        for (step, output) in zip(steps, outputs) {
            let lines = output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(lines.count == step.output.count, "\(step.command): \(output)")
            for (line, shown) in zip(lines, step.output) {
                // A line that ends with an ellipsis is compared only up to there.
                let isSame = shown.hasSuffix("…") ? line.hasPrefix(shown.dropLast()) : line == shown
                #expect(isSame, "\(step.command): \(line)")
            }
        }
    }
}
