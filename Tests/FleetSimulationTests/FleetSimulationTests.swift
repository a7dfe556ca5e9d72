import ProcessTesting
import Simulation
import Testing

/// The simulated fleet is a program of its own, because it has other functions in place of librdkafka and of the clocks.
@Suite struct FleetSimulationTests {
    private func output(ofArguments arguments: [String], status expected: Int32 = 0) async throws -> String {
        let simulation = try ChildProcess(
            builtProductPath(named: "flotilla-simulation"), arguments: arguments)
        let status = try await simulation.exitStatus(seconds: 600)
        #expect(status == expected, "\(simulation.output.suffix(8000))\(simulation.errors)")
        return simulation.output
    }

    @Test func `the fleet keeps its laws in days full of faults`() async throws {
        let count = trialCount(base: 3)
        let output = try await output(ofArguments: ["--seed", "1", "--count", "\(count)", "--minutes", "2"])
        // A story that broke no law is one line.
        #expect(output.split(separator: "\n").count == count)
    }

    @Test func `a seed tells the same story again`() async throws {
        let arguments = ["--seed", "7", "--minutes", "1"]
        let first = try await output(ofArguments: arguments)
        // The trace is a number that depends on everything that happened.
        #expect(first.contains("trace"))
        #expect(try await output(ofArguments: arguments) == first)
    }

    @Test func `a story without some of its steps keeps the others`() async throws {
        let arguments = ["--seed", "7", "--minutes", "1", "--first-part", "--story"]
        let whole = try await output(ofArguments: arguments)
        let shorter = try await output(ofArguments: arguments + ["--without", "0-9"])
        func sendCount(in text: String) -> Int {
            text.split(separator: "\n").count { $0.contains(#/the backend of \S+ sends/#) }
        }
        #expect(sendCount(in: whole) > 1)
        #expect(sendCount(in: shorter) < sendCount(in: whole))
    }

    /// The clock of a node of Kafka goes back by an hour, so an update that was scheduled there expires at once.
    @Test func `a failure becomes a short story that can be repeated`() async throws {
        let arguments = ["--seed", "1", "--minutes", "3", "--clock-jumps", "--first-part"]
        let output = try await output(ofArguments: arguments, status: 1)
        let title = try #require(output.firstMatch(of: #/has (\d+) of (\d+) steps/#))
        // Fewer than a quarter of the steps are left.
        let (left, all) = (try #require(Int(title.1)), try #require(Int(title.2)))
        #expect(left * 4 < all)
        let steps = try #require(output.matches(of: #/--without (\S+)/#).last).1
        let shorter = try await self.output(
            ofArguments: arguments + ["--without", String(steps), "--no-shrink"], status: 1)
        #expect(shorter.contains("broke a law"))
    }
}
