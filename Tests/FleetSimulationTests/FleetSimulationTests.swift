import ProcessTesting
import Simulation
import Testing

/// The simulated fleet is a program of its own, because it has other functions in place of librdkafka and of the clocks.
@Suite struct FleetSimulationTests {
    private func output(ofArguments arguments: [String]) async throws -> String {
        let simulation = try ChildProcess(
            builtProductPath(named: "flotilla-simulation"), arguments: arguments)
        let status = try await simulation.exitStatus(seconds: 600)
        #expect(status == 0, "\(simulation.output.suffix(8000))\(simulation.errors)")
        return simulation.output
    }

    @Test func `the fleet keeps its laws in days full of faults`() async throws {
        let count = trialCount(base: 3)
        let output = try await output(ofArguments: ["--seed", "1", "--count", "\(count)", "--minutes", "3"])
        #expect(output.split(separator: "\n").count == count)
    }

    @Test func `a seed tells the same story again`() async throws {
        let arguments = ["--seed", "7", "--minutes", "1"]
        let first = try await output(ofArguments: arguments)
        #expect(first.contains("trace"))
        #expect(try await output(ofArguments: arguments) == first)
    }
}
